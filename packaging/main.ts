/**
 * `npm run package -- [flags]`: builds the packages of this checkout, which must be compiled: the Debian package (deb.ts) and
 * the tarball (tarball.ts), which share a tree of files (tree.ts), the clients' packages (client.ts, python-client.ts), the
 * list of dependencies (sbom.ts), and the checksums of all these files.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { buildClient } from './client.js'
import { buildDeb } from './deb.js'
import { buildPythonClient } from './python-client.js'
import { isOlder, repositoryVersion, restartBefore } from './release.js'
import { buildSbom } from './sbom.js'
import { buildTarball } from './tarball.js'
import { buildTree, labelTree } from './tree.js'

const { values: flags } = parseArgs({
  options: {
    out: { type: 'string', default: 'packages' },
    /** Replaces the version in package.json, for tests of upgrades. */
    version: { type: 'string', multiple: true, default: [repositoryVersion] },
    /** Replaces the release in restart-before, for the same tests; has no effect on earlier versions. */
    'restart-before': { type: 'string', default: restartBefore },
    /** Builds larger files in a fraction of the time. */
    fast: { type: 'boolean', default: false },
  },
})

const out = resolve(flags.out)
mkdirSync(out, { recursive: true })
const work = mkdtempSync(join(tmpdir(), 'topicd-package-'))
try {
  const directory = join(work, 'tree')
  buildTree(directory)
  const files = flags.version.flatMap((version) => {
    const named = flags['restart-before']
    const release = { version, restartBefore: isOlder(version, named) ? restartBefore : named }
    labelTree(directory, release)
    return [
      buildDeb(directory, release, work, out, flags.fast),
      buildTarball(directory, release, work, out, flags.fast),
      buildClient(version, work, out),
      ...buildPythonClient(version, out),
      buildSbom(directory, release, out),
    ]
  })
  const sums = files.map(
    (file) => `${createHash('sha256').update(readFileSync(file)).digest('hex')}  ${basename(file)}\n`,
  )
  writeFileSync(join(out, 'SHA256SUMS'), sums.join(''))
  for (const file of files) process.stdout.write(`${file}: ${(statSync(file).size / 1e6).toFixed(1)} MB\n`)
} finally {
  rmSync(work, { recursive: true, force: true })
}
