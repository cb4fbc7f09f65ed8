/** The failures of a store that its users must expect. What a client did wrong is a value of topics.ts instead. */

/** What is known about a write that failed, or why a read was impossible. */
type StoreErrorKind =
  /** Nothing happened, or only a part of a bulk removal; a retry may succeed. */
  | 'retry'
  /** It may or may not have happened. */
  | 'unknown_outcome'
  /** Nothing happened; there is no space. */
  | 'full'
  /** Nothing happened; the engine cannot be reached. */
  | 'unavailable'

/** Every failure of a store that callers must expect, by kind. */
export class StoreError extends Error {
  constructor(
    readonly kind: StoreErrorKind,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/**
 * The store cannot be used in its present state. The message says which file or record is wrong, how, and what to do.
 */
export class StoreUnusable extends Error {}
