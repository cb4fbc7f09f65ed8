/**
 * Keeps a small store written by a release, so that later releases can prove that they can open it: one topic of each kind,
 * enough other topics for several pages, and API keys.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { root, run } from './run.js'

/** The folder of all releases' stores. */
const kept = join(root, 'test/releases')

/**
 * Writes a store with this build, and its export.
 *
 * @returns the two files
 */
export function keepReleaseStore(version: string): readonly string[] {
  const directory = mkdtempSync(join(tmpdir(), 'topicd-release-'))
  try {
    const flags = ['--with-keys', '--data', join(directory, 'data')]
    const main = join(root, 'dist/main.js')
    run(
      process.execPath,
      [main, 'import', '--allow-unfinished', ...flags],
      root,
      readFileSync(join(root, 'packaging/release-store.ndjson')),
    )
    const exported = run(process.execPath, [main, 'export', ...flags], root)
    mkdirSync(kept, { recursive: true })
    const files = [join(kept, `${version}.mdb.gz`), join(kept, `${version}.ndjson`)] as const
    writeFileSync(files[0], gzipSync(readFileSync(join(directory, 'data/topics/data.mdb')), { level: 9 }))
    writeFileSync(files[1], exported)
    return files
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
