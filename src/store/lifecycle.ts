/** The life of an open store: whether it is available, and its end. How it is opened is in open.ts. */

/** Whether the store can be used now. */
export interface Availability {
  /** Why the store is unavailable now, for a person; undefined while it is available. Absent if it always is. */
  notReady?(): string | undefined
}

/** The end of its use. */
export interface Closable {
  /**
   * Waits for the writes in flight, then releases everything.
   *
   * @throws Error while a backup is still being copied, which cannot be stopped
   */
  close(): Promise<void>
}
