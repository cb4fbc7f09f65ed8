/**
 * Periods as a person writes them: a whole number and its unit, such as 30s, 10m, 12h or 7d. Pure. Which periods are
 * allowed is decided where they are used.
 */

const unitMs: ReadonlyMap<string, number> = new Map([
  ['s', 1000],
  ['m', 60 * 1000],
  ['h', 60 * 60 * 1000],
  ['d', 24 * 60 * 60 * 1000],
])

/** The period in ms, however long; undefined if the text is not a whole number and a unit, in lower case. */
export function parsePeriod(text: string): number | undefined {
  const unit = unitMs.get(text.slice(-1))
  const count = text.slice(0, -1)
  return unit === undefined || !/^\d+$/.test(count) ? undefined : Number(count) * unit
}
