/** The last ten minutes: a moment for each reading, by this page or kept by the service; gaps have no point. */
import { gapS, type Point, pointOf } from './points.js'
import type { Reading } from './reading.js'

export interface Moment {
  /** Seconds since the epoch, by the browser's clock. Ascending. */
  readonly atS: number
  /** Undefined for a gap. */
  readonly point: Point | undefined
}

export const historyS = 600

/** A kept reading closer than this to one of this page adds nothing. */
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

  /** The first kept reading of the service's current run. */
  get firstReadingOfRun(): Reading | undefined {
    const { lastReading } = this
    return this.#readings.find(({ startedS }) => startedS === lastReading?.startedS)
  }

  /** After a pause, such as that of a hidden tab, the moments before it are followed by a gap. */
  add(reading: Reading): void {
    const { atS } = reading
    this.#forget(atS)
    const lastS = this.#moments.at(-1)?.atS
    if (lastS !== undefined && atS - lastS > gapS) this.#moments.push({ atS: (lastS + atS) / 2, point: undefined })
    this.#moments.push({ atS, point: pointOf(reading, this.#readings) })
    this.#readings.push(reading)
  }

  /** True if the service may know of moments up to this one that are missing here. */
  isBehind(atS: number): boolean {
    const { lastReading } = this
    return lastReading === undefined || atS - lastReading.atS > gapS
  }

  /** Adds readings that are later than the last one here. @param readings in the order of time */
  addPast(readings: readonly Reading[]): void {
    const lastS = this.lastReading?.atS ?? Number.NEGATIVE_INFINITY
    const missed = readings.filter(({ atS }) => atS > lastS + apartSMin)
    const [first] = missed
    if (first === undefined) return
    // Nothing could be read here, but the service knows.
    this.#moments = this.#moments.filter(({ atS, point }) => point !== undefined || atS < first.atS)
    for (const reading of missed) this.add(reading)
  }

  addGap(atS: number): void {
    this.#forget(atS)
    this.#moments.push({ atS, point: undefined })
  }

  /** If the clock was set back, also removes everything. */
  #forget(nowS: number): void {
    const lastS = this.#moments.at(-1)?.atS ?? 0
    const fromS = nowS > lastS ? nowS - historyS : Number.POSITIVE_INFINITY
    this.#readings = this.#readings.filter(({ atS }) => atS > fromS)
    this.#moments = this.#moments.filter(({ atS }) => atS > fromS)
  }
}
