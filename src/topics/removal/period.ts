/** Periods as people write them: a whole number and a unit, such as 30s, 10m or 7d. Pure. Callers limit them. */

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** The period in ms, without a limit; undefined unless the text is a whole number and a unit in lower case. */
export function parsePeriod(text: string): number | undefined {
  const unit = unitMs[text.slice(-1)]
  return unit !== undefined && /^\d+.$/.test(text) ? Number(text.slice(0, -1)) * unit : undefined
}
