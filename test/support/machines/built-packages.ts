/**
 * Packages of this checkout, built for tests: faster than for a release, and larger. The test runner names a shared directory. The first
 * test file that needs the packages builds them there; the others wait for it.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { root } from '../documents.js'

/** The environment variable that names the directory. */
export const sharedPackages = 'SHARED_PACKAGES'

/** Versions later than any release. An upgrade to the last one restarts the service. */
export type PackageVersion = '8.0.0' | '8.1.0' | '9.0.0'

type PackageKind = 'deb' | 'tarball' | 'client' | 'sbom'

/** @returns a function that finds the package of a version, until the test ends */
export function builtPackages(t: Test): (kind: PackageKind, version: PackageVersion) => string {
  const directory = process.env[sharedPackages] ?? ownDirectory(t)
  const out = join(directory, 'built')
  const versions = ['8.0.0', '8.1.0', '9.0.0'].flatMap((version) => ['--version', version])
  const program = [process.execPath, join(root, 'dist-packaging/main.js'), '--fast', '--restart-before', '9.0.0']
  // The directory gets its final name only when it is complete.
  const script = '[ -e "$0" ] || { "$@" --out "$0.new" && mv "$0.new" "$0"; }'
  execFileSync('flock', [join(directory, 'lock'), 'sh', '-c', script, out, ...program, ...versions], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return (kind, version) => {
    const prefix = {
      deb: `topicd_${version}_`,
      tarball: `topicd-${version}-linux-`,
      client: `topicd-client-${version}.`,
      sbom: `topicd-${version}.sbom.`,
    }[kind]
    const name = readdirSync(out).find((name) => name.startsWith(prefix))
    if (name === undefined) throw new Error(`no ${kind} of ${version} was built`)
    return join(out, name)
  }
}

function ownDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'topicd-packages-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}
