/**
 * A topic whose REMOVAL, or whose time, cannot be read: the disk has damaged it, or an earlier version has stored what this
 * one does not take. Whatever goes over stored topics reports such a topic, leaves it as it is, and goes on with the others:
 * one bad record must not stop a sweep.
 */
import type { Path } from '../topics/path.js'

export class UnreadableTopic extends Error {
  constructor(
    readonly path: Path,
    cause: Error,
  ) {
    super(cause.message, { cause })
  }
}

/** What `read` returns. @throws UnreadableTopic when it throws anything */
export function readOf<T>(path: Path, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new UnreadableTopic(path, error as Error)
  }
}
