/**
 * The last ten minutes, in memory: a moment for each reading, of this page or kept by the service, and one without a point
 * wherever nothing is known.
 */
import { gapS, type Point, pointOf } from './points.js'
import type { Reading } from './reading.js'

export interface Moment {
  /** Seconds since the epoch, by the browser's clock. Ascending. */
  readonly atS: number
  /** Undefined for a gap. */
  readonly point: Point | undefined
}

/** How long a moment is kept, and shown. */
export const historyS = 600

/** A kept reading that is closer to one of this page says nothing new. */
const apartSMin = 1

export class History {
  #readings: Reading[] = []
  #moments: Moment[] = []

  get moments(): readonly Moment[] {
    return this.#moments
  }

  get lastReading(): Reading | undefined {
    return this.#readings.at(-1)
  }

  /** The first one that is kept of the service's present run. */
  get firstReadingOfRun(): Reading | undefined {
    const { lastReading } = this
    return this.#readings.find(({ startedS }) => startedS === lastReading?.startedS)
  }

  /** Adds a reading. After a pause, such as that of a hidden tab, the moments before it are followed by a gap. */
  add(reading: Reading): void {
    const { atS } = reading
    this.#forget(atS)
    const lastS = this.#moments.at(-1)?.atS
    if (lastS !== undefined && atS - lastS > gapS) this.#moments.push({ atS: (lastS + atS) / 2, point: undefined })
    this.#moments.push({ atS, point: pointOf(reading, this.#readings) })
    this.#readings.push(reading)
  }

  /** Whether the service may know of moments up to this one that are not known here. */
  isBehind(atS: number): boolean {
    const { lastReading } = this
    return lastReading === undefined || atS - lastReading.atS > gapS
  }

  /** Adds what the service has kept since the last reading here. @param readings in the order of time */
  addPast(readings: readonly Reading[]): void {
    const lastS = this.lastReading?.atS ?? Number.NEGATIVE_INFINITY
    const missed = readings.filter(({ atS }) => atS > lastS + apartSMin)
    const [first] = missed
    if (first === undefined) return
    // Nothing could be read here, but the service knows.
    this.#moments = this.#moments.filter(({ atS, point }) => point !== undefined || atS < first.atS)
    for (const reading of missed) this.add(reading)
  }

  /** Nothing could be read. */
  addGap(atS: number): void {
    this.#forget(atS)
    this.#moments.push({ atS, point: undefined })
  }

  /** Removes what is too old, and everything if the clock was set back. */
  #forget(nowS: number): void {
    const lastS = this.#moments.at(-1)?.atS ?? 0
    const fromS = nowS > lastS ? nowS - historyS : Number.POSITIVE_INFINITY
    this.#readings = this.#readings.filter(({ atS }) => atS > fromS)
    this.#moments = this.#moments.filter(({ atS }) => atS > fromS)
  }
}
