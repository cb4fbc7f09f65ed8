/** Periods as a person writes them: a whole number and a unit, such as 30s, 10m or 7d. Pure. Callers bound them. */

const unitMs: ReadonlyMap<string, number> = new Map([
  ['s', 1000],
  ['m', 60 * 1000],
  ['h', 60 * 60 * 1000],
  ['d', 24 * 60 * 60 * 1000],
])

/** The period in ms, without a bound; undefined unless the text is a whole number and a unit, in lower case. */
export function parsePeriod(text: string, start = 0, end = text.length): number | undefined {
  const unit = unitMs.get(text.charAt(end - 1))
  const count = parseCount(text, start, end - 1)
  return unit === undefined || count === undefined ? undefined : count * unit
}

const digitZero = 0x30

/** Exact up to 2^53; undefined if anything between the indexes is not an ASCII digit. */
export function parseCount(text: string, start: number, end: number): number | undefined {
  let count = 0
  for (let i = start; i < end; i++) {
    const digit = text.charCodeAt(i) - digitZero
    if (digit < 0 || digit > 9) return undefined
    count = 10 * count + digit
  }
  return start < end ? count : undefined
}
