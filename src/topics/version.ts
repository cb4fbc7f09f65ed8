/**
 * Versions: one number for each change of a topic, in the order of the changes. A version is the millisecond of its
 * change × 1,024, plus a counter, so it also gives the time of the topic's last update. It stays below 2^53, where
 * numbers are exact, until the year 2248; after that, versions only count up. With 4,096, that year would be 2039.
 */

/** If a millisecond has more changes, the rest take versions of the next millisecond. */
export const versionsPerMs = 1024

/**
 * The first version of the millisecond `nowMs` or, if that is not greater than `last` or not exact, `last` + 1. If the
 * clock steps back, versions therefore continue from the last one.
 */
export function nextVersion(last: number, nowMs: number): number {
  const first = nowMs * versionsPerMs
  return first > last && first <= Number.MAX_SAFE_INTEGER ? first : last + 1
}

export function updatedMs(version: number): number {
  return Math.floor(version / versionsPerMs)
}

/** A comma precedes each member. */
export function versionMembers(version: number): string {
  return `,"version":${version},"updated":"${new Date(updatedMs(version)).toISOString()}"`
}
