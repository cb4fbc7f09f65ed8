/** Programs that the build of packages runs. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

/** The checkout. */
export const root = join(import.meta.dirname, '..')

/** When the commit was made, in s since the epoch. Files are dated by it, so that the same commit makes the same package. */
export const epoch = execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' }).trim()

/**
 * Runs a program to its end; what it prints on standard error is shown.
 *
 * @param input its standard input; nothing by default
 * @returns its standard output
 * @throws Error when it fails
 */
export function run(program: string, args: readonly string[], directory: string, input: string | Buffer = ''): string {
  return execFileSync(program, args, {
    cwd: directory,
    encoding: 'utf8',
    input,
    stdio: ['pipe', 'pipe', 'inherit'],
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, SOURCE_DATE_EPOCH: epoch },
  })
}

/**
 * Runs a program in the checkout, and shows everything that it prints.
 *
 * @throws Error when it fails
 */
export function runVisibly(program: string, args: readonly string[]): void {
  execFileSync(program, args, { cwd: root, stdio: 'inherit' })
}
