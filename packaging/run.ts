/** Programs that the build of packages runs. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

/** The checkout. */
export const root = join(import.meta.dirname, '..')

/** Files are dated by the commit, so that the same commit makes the same package. */
const epoch = execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' }).trim()

/**
 * Runs a program to its end; what it prints on standard error is shown.
 *
 * @returns its standard output
 * @throws Error when it fails
 */
export function run(program: string, args: readonly string[], directory: string): string {
  return execFileSync(program, args, {
    cwd: directory,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, SOURCE_DATE_EPOCH: epoch },
  })
}
