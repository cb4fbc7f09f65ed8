/**
 * The exit codes, by which a unit file, a script or a person can distinguish why a process ended; and the line on
 * standard error that goes with them.
 */
import { writeSync } from 'node:fs'

export const exitCodes = {
  done: 0,
  /** A failure without a code of its own; the log says which. */
  failed: 1,
  /** The command line, the environment or the settings file is wrong. */
  usage: 2,
  /** Another process listens on the port. */
  portInUse: 10,
  /** Another service, or a worker that is still ending, uses the data directory. */
  directoryInUse: 11,
  /** Too many workers in a row died before they served, and no other was left. */
  restartLimit: 12,
  /** A worker's commit failed or never returned; the primary replaces the worker. */
  commitFailed: 20,
  /** A worker could not open the store. */
  storeUnusable: 21,
  /** An address cannot be listened on for another reason; or a worker could not listen or use the certificate. */
  listenFailed: 22,
  /** A second signal told the service to end at once. */
  forced: 130,
} as const

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
