/**
 * The last release, built from its commit: its program and its packages, for tests of upgrades. A build takes minutes. `RELEASED` names a
 * checkout of that commit in which `npm ci` and `npm run package` have run; without it, the test builds one.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

const root = join(import.meta.dirname, '../../..')

export interface Released {
  readonly version: string
  /** The program's main.js. */
  readonly program: string
  /** The file of a package in the release. */
  readonly packageOf: (kind: 'deb' | 'tarball') => string
}

/** The subject of a release's commit; packaging/make-release.ts writes it. */
const subject = /^(\w+) Release (\d+\.\d+\.\d+)$/m

/** The commit and the version of the last release; undefined if the checkout has no history. */
export function lastRelease(): { readonly commit: string; readonly version: string } | undefined {
  const log = execFileSync('git', ['log', '--format=%H %s', '--grep=^Release '], { cwd: root, encoding: 'utf8' })
  const [, commit, version] = subject.exec(log) ?? []
  return commit === undefined || version === undefined ? undefined : { commit, version }
}

/** Builds the last release, which must exist, for the duration of the test. */
export function buildReleased(t: Test): Released {
  const release = lastRelease()
  if (release === undefined) throw new Error('there is no release in the history of this checkout')
  const directory = process.env.RELEASED ?? build(t, release.commit)
  return {
    version: release.version,
    program: join(directory, 'dist/main.js'),
    packageOf: (kind) => {
      const packages = join(directory, 'packages')
      const ending = kind === 'deb' ? /\.deb$/ : /\.tar\.[gx]z$/
      const name = readdirSync(packages).find((name) => ending.test(name))
      if (name === undefined) throw new Error(`${packages} has no ${kind}`)
      return join(packages, name)
    },
  }
}

function build(t: Test, commit: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'topicd-released-'))
  const run = (cwd: string, command: string, ...args: readonly string[]): void => {
    execFileSync(command, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] })
  }
  run(root, 'git', 'worktree', 'add', '--detach', '--force', directory, commit)
  t.teardown(() => {
    run(root, 'git', 'worktree', 'remove', '--force', directory)
    rmSync(directory, { recursive: true, force: true })
  })
  run(directory, 'npm', 'ci', '--silent', '--no-audit', '--no-fund')
  run(directory, 'npm', 'run', '--silent', 'package', '--', '--fast')
  return directory
}
