/** Lines on standard error: why a process ends, or what a person should know. Logs go through ops/log.ts. */
import { writeSync } from 'node:fs'

/** Ends the process with one line on standard error that says why. */
export function fatal(code: number, reason: string): never {
  complain(reason)
  process.exit(code)
}

/** Writes one line to standard error. */
export function complain(reason: string): void {
  writeError(`topicd: ${reason}\n`)
}

/** Writes to standard error. A failure is ignored: there is no other place to report it. */
export function writeError(text: string): void {
  try {
    writeSync(2, text)
  } catch {
    // A full disk, a closed terminal, a reader that has gone.
  }
}
