/** The failures of a store that its users must expect. What a client did wrong is a value of topics.ts instead. */
import type { Path } from '../topics/path.js'

/** The known effect of a failed write, or the reason why a read was impossible. */
type StoreErrorKind =
  /** Nothing happened, or only a part of a bulk removal; a retry may succeed. */
  | 'retry'
  /** It may or may not have happened. */
  | 'unknown_outcome'
  /** Nothing happened; there is no space. */
  | 'full'
  /** Nothing happened; the engine cannot be reached. */
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

/** The store is unusable as it is. The message says which file or record is wrong, how, and what to do. */
export class StoreUnusable extends Error {}

/** The error for a person when a walk failed with `cause`; LMDB's own messages are as short as MDB_CORRUPTED. */
export function damaged(cause: unknown): StoreUnusable {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new StoreUnusable(`the store is damaged: ${reason}. Restore a backup; "topicd check" says more`, { cause })
}

/**
 * A topic whose REMOVAL, or whose time, cannot be read: the disk has damaged it, or an earlier version has stored what this
 * one does not take. Whatever goes over stored topics reports such a topic, leaves it as it is, and goes on with the others:
 * one bad record must not stop a sweep.
 */
export class UnreadableTopic extends Error {
  constructor(
    readonly path: Path,
    cause: Error,
  ) {
    super(cause.message, { cause })
  }
}

/** @throws UnreadableTopic when `read` throws anything */
export function readOf<T>(path: Path, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new UnreadableTopic(path, error as Error)
  }
}
