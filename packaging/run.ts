/** Runs programs for building the packages. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

/** The checkout. */
export const root = join(import.meta.dirname, '..')

/** The commit's time in s since the epoch. Files get this date, so that the same commit builds the same package. */
export const epoch = execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' }).trim()

/**
 * Runs a program to completion, and shows its standard error.
 *
 * @param input its standard input; empty by default
 * @returns its standard output
 * @throws Error if it fails
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
 * Runs a program in the checkout, and shows all of its output.
 *
 * @throws Error if it fails
 */
export function runVisibly(program: string, args: readonly string[]): void {
  execFileSync(program, args, { cwd: root, stdio: 'inherit' })
}
