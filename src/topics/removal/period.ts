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
export function parsePeriod(text: string, start = 0, end = text.length): number | undefined {
  const unit = unitMs.get(text.charAt(end - 1))
  const count = parseCount(text, start, end - 1)
  return unit === undefined || count === undefined ? undefined : count * unit
}

const digitZero = 0x30

/** The whole number between two indexes, exact up to 2^53; undefined if anything there is not a digit of ASCII. */
export function parseCount(text: string, start: number, end: number): number | undefined {
  let count = 0
  for (let i = start; i < end; i++) {
    const digit = text.charCodeAt(i) - digitZero
    if (digit < 0 || digit > 9) return undefined
    count = 10 * count + digit
  }
  return start < end ? count : undefined
}
