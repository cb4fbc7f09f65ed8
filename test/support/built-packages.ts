/** Packages of this checkout, built for a test: quickly, so larger than those of a release. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

const root = join(import.meta.dirname, '../..')

/**
 * Builds the packages of these versions.
 *
 * @param kinds which of them: deb, tarball or both
 * @returns the folder that they are in until the test ends
 */
export function buildPackages(t: Test, versions: readonly string[], ...flags: readonly string[]): string {
  const out = mkdtempSync(join(tmpdir(), 'topicd-packages-'))
  t.teardown(() => rmSync(out, { recursive: true, force: true }))
  const args = versions.flatMap((version) => ['--version', version])
  execFileSync(process.execPath, [join(root, 'dist-packaging/main.js'), '--fast', '--out', out, ...args, ...flags], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return out
}

/** The file in a folder whose name this matches. */
export function packageIn(directory: string, pattern: RegExp): string {
  const found = readdirSync(directory).find((name) => pattern.test(name))
  if (found === undefined) throw new Error(`no package in ${directory} is named ${pattern}`)
  return join(directory, found)
}
