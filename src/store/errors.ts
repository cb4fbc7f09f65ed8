/** Expected failures of a store. A client's mistakes are values in topics.ts instead. */
import type { Path } from '../topics/path.js'

/** The known effect of a failed write, or the reason why a read was impossible. */
type StoreErrorKind =
  /** Nothing was changed, or a bulk removal is partial; a retry may succeed. */
  | 'retry'
  /** The write may or may not have been applied. */
  | 'unknown_outcome'
  /** Nothing was changed; the disk has no space. */
  | 'full'
  /** Nothing was changed; the engine is unreachable. */
  | 'unavailable'

export class StoreError extends Error {
  constructor(
    readonly kind: StoreErrorKind,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** The store is unusable. The message names the faulty file or record, the fault, and the remedy. */
export class StoreUnusable extends Error {}

/** The error to show when a walk failed with `cause`; LMDB's own messages are as terse as MDB_CORRUPTED. */
export function damaged(cause: unknown): StoreUnusable {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new StoreUnusable(`the store is damaged: ${reason}. Restore a backup; for details, run "topicd check"`, {
    cause,
  })
}

/**
 * A topic whose REMOVAL or time cannot be read: the disk damaged it, or an earlier release stored a value that this one rejects.
 * Code that visits stored topics reports such a topic, leaves it unchanged and continues, so that one bad record does not stop a
 * sweep.
 */
export class UnreadableTopic extends Error {
  constructor(
    readonly path: Path,
    cause: Error,
  ) {
    super(cause.message, { cause })
  }
}

/** @throws UnreadableTopic if `read` throws anything */
export function readOf<T>(path: Path, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new UnreadableTopic(path, error as Error)
  }
}
