/**
 * A topic whose REMOVAL, or whose time, cannot be read: the disk has damaged it, or an earlier version has stored what this
 * one does not take. Whatever goes over stored topics reports such a topic, leaves it as it is, and goes on with the others:
 * one bad record must not stop a sweep.
 */
import type { Path } from '../topics/path.js'
import { dueMs, type RemovalPolicy } from '../topics/removal/policy.js'

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

/** As `dueMs`. @throws RangeError when that is no time that an engine can store, since one of the times is none */
export function storedDueMs(policy: RemovalPolicy, createdMs: number, updatedMs: number): number {
  const atMs = dueMs(policy, createdMs, updatedMs)
  if (!Number.isSafeInteger(Math.floor(atMs)))
    throw new RangeError('the time of its creation or its last update is no time')
  return atMs
}
