/** The exit codes, by which a unit file, a script or a person can distinguish why a process ended. */

export const exitCodes = {
  done: 0,
  /** A failure without a code of its own; the log says which. */
  failed: 1,
  /** The command line, the environment or the settings file is wrong. */
  usage: 2,
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
