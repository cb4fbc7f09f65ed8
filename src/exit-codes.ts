/**
 * Why a process of ours ended, as a number that a unit file, a script or a person can tell apart.
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
  /** Another service, or a worker that still ends, uses the data directory. */
  directoryInUse: 11,
  /** Workers died before they served, over and over, and none was left. */
  restartLimit: 12,
  /** A worker's commit failed or never came back; the primary replaces it. */
  commitFailed: 20,
  /** A worker could not open the store. */
  storeUnusable: 21,
  /** An address cannot be listened on for another reason; or a worker could not listen, or not use the certificate. */
  listenFailed: 22,
  /** The service was told to end at once, by a second signal. */
  forced: 130,
} as const

/** Ends the process, saying why in one line on standard error. */
export function fatal(code: number, reason: string): never {
  complain(reason)
  process.exit(code)
}

/** Says it in one line on standard error. */
export function complain(reason: string): void {
  writeError(`topicd: ${reason}\n`)
}

/** Writes on standard error; where nobody can be told, the exit code has to do. */
export function writeError(text: string): void {
  try {
    writeSync(2, text)
  } catch {
    // A full disk, a closed terminal, a reader that has gone.
  }
}
