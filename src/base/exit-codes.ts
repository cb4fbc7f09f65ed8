/** The exit codes, which tell a unit file, a script or a person why a process exited. */

export const exitCodes = {
  done: 0,
  /** A failure without its own code; see the log. */
  failed: 1,
  /** The command line, the environment or the settings file is wrong. */
  usage: 2,
  portInUse: 10,
  /** Another service, or a process that is still exiting, uses the data directory. */
  directoryInUse: 11,
  /** Too many workers in a row died before they served, and no other worker was left. */
  restartLimit: 12,
  /** A commit in the writer failed; the primary replaces the writer. */
  commitFailed: 20,
  /** A worker or the writer could not open the store. */
  storeUnusable: 21,
  /** An address could not be bound for a reason other than `portInUse`, or a worker could not listen or use the certificate. */
  listenFailed: 22,
  /** A second signal told the service to exit immediately. */
  forced: 130,
} as const
