/**
 * Periods as a person writes them: a whole number and its unit, such as 30s, 10m, 12h or 7d. Pure. Which periods are
 * allowed is decided where they are used.
 */

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** The period in ms, however long; undefined if the text is not a whole number and a unit, in lower case. */
export function parsePeriod(text: string): number | undefined {
  const [, count, unit = ''] = /^([0-9]+)([smhd])$/.exec(text) ?? []
  return count === undefined ? undefined : Number(count) * (unitMs[unit] as number)
}
