/**
 * Why a process of ours ended, as a number that a unit file, a script or a person can distinguish; and the line on standard
 * error that goes with it.
 */
import { writeSync } from 'node:fs'

export const exitCodes = {
  done: 0,
  /** Something failed that has no number of its own; the log says what. */
  failed: 1,
  /** The command line, the environment or the settings file is wrong. */
  usage: 2,
  /** Another process listens on the port. */
  portInUse: 10,
  /** Another service, or a worker that is still ending, uses the data directory. */
  directoryInUse: 11,
  /** Workers kept dying before they served, until none was left. */
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

/** Writes one line on standard error. */
export function complain(reason: string): void {
  writeError(`topicd: ${reason}\n`)
}

/** Writes on standard error. If that fails, only the exit code is left to say something. */
export function writeError(text: string): void {
  try {
    writeSync(2, text)
  } catch {
    // A full disk, a closed terminal, a reader that has gone.
  }
}
