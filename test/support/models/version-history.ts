/**
 * Checks the versions in a history of one topic: no version is less than an earlier one, and one version always has the same value. So a
 * value that has changed has a greater version.
 */
import type { Operation, Value } from './linearizable.js'

/** A read whose response contains the version. */
interface Seen {
  readonly startMs: number
  readonly endMs: number
  readonly version: number
  readonly value: Value | undefined
}

/** The faults in the versions, in words. @param history in any order */
export function versionFaults(history: readonly Operation[]): readonly string[] {
  const seen = history.flatMap(({ startMs, endMs, version, read: value }): Seen[] =>
    endMs === undefined || version === undefined ? [] : [{ startMs, endMs, version, value }],
  )
  return [...ambiguous(seen), ...backwards(seen)]
}

function* ambiguous(seen: readonly Seen[]): Generator<string> {
  const values = new Map<number, Value | undefined>()
  for (const { version, value } of seen) {
    if (values.has(version) && values.get(version) !== value)
      yield `version ${version} has the value ${value}, and ${values.get(version)}`
    values.set(version, value)
  }
}

/** Reads with a lower version that started after the response with a greater one. */
function* backwards(seen: readonly Seen[]): Generator<string> {
  const answers = [...seen].sort((a, b) => b.endMs - a.endMs)
  let greatest = 0
  for (const { startMs, version } of [...seen].sort((a, b) => a.startMs - b.startMs)) {
    for (let next = answers.at(-1); next !== undefined && next.endMs < startMs; next = answers.at(-1)) {
      greatest = Math.max(greatest, next.version)
      answers.pop()
    }
    if (version < greatest) yield `version ${version} was seen after ${greatest}`
  }
}
