/**
 * Versions: one number for each change of a topic, in the order of the changes. A version is the millisecond of its
 * change × 1,024, plus a counter, so it also says when a topic was last updated. It stays below 2^53, where numbers are
 * exact; that holds moments until the year 2248, and a later one only counts on. With 4,096, it would end in 2039.
 */

/** A change beyond these takes a version of the next millisecond. */
export const versionsPerMs = 1024

/**
 * The first version of the millisecond `nowMs` or, if that is not greater than `last` or would not be exact, the one
 * after `last`. So versions continue from the last one if the clock steps back.
 */
export function nextVersion(last: number, nowMs: number): number {
  const first = nowMs * versionsPerMs
  return first > last && first <= Number.MAX_SAFE_INTEGER ? first : last + 1
}

export function updatedMs(version: number): number {
  return Math.floor(version / versionsPerMs)
}

/** Each member has a comma before it. */
export function versionMembers(version: number): string {
  return `,"version":${version},"updated":"${new Date(updatedMs(version)).toISOString()}"`
}
