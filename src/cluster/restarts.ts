/**
 * How soon a worker that died is replaced: at once when it had lived long, ever later while workers die young, and never
 * again after too many such deaths in a row. Pure; the caller tells the time.
 */

/** A worker that lived this long died of something that happened, not of being started. */
const youngMs = 10_000

/** Young deaths in a row, all slots together, after which starting more makes no sense. */
export const youngDeathsMax = 10

const delayMsFirst = 100
const delayMsMax = 5000

/** Counts deaths; answers after how many ms to start a replacement, or undefined to give up. */
export function createRestartPolicy(): (livedMs: number) => number | undefined {
  let youngDeaths = 0
  return (livedMs) => {
    if (livedMs >= youngMs) {
      youngDeaths = 0
      return 0
    }
    youngDeaths++
    if (youngDeaths > youngDeathsMax) return undefined
    return Math.min(delayMsFirst * 2 ** (youngDeaths - 1), delayMsMax)
  }
}
