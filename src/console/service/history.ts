/** The last ten minutes: the samples that the service sent, with times by the browser's clock, and gaps. */
import type { Moment } from '../../ops/figures/console-state.js'

/** A sample, or a gap without figures. */
export interface ShownMoment extends Moment {
  readonly isGap?: true
}

export const historyS = 600

/** A longer pause is a gap, which no line crosses. The service's samples are at most 5 s apart. */
const gapS = 8

/** Changed only by its own methods. */
export class History {
  moments: readonly ShownMoment[] = []
  /** The time of the last sample on the service's clock. */
  sinceS = 0

  get last(): ShownMoment | undefined {
    return this.moments.at(-1)
  }

  /** The time of the last known figures; undefined if they are current. */
  get asOfS(): number | undefined {
    return this.last?.isGap ? this.moments.findLast(({ isGap }) => !isGap)?.atS : undefined
  }

  /** @param sent samples in ascending order @param serviceS the time on the service's clock @param nowS the browser's time */
  add(sent: readonly Moment[], serviceS: number, nowS: number): void {
    for (const moment of sent) {
      const atS = moment.atS + nowS - serviceS
      const lastS = this.last?.atS ?? atS
      if (atS - lastS > gapS) this.addGap((atS + lastS) / 2)
      this.#push({ ...moment, atS })
      this.sinceS = moment.atS
    }
    if (nowS - (this.last?.atS ?? nowS) > gapS) this.addGap(nowS)
  }

  addGap(atS: number): void {
    this.#push({ atS, isGap: true })
  }

  /** Drops old moments, and later ones: gaps that the sample fills, or moments from before a clock was set back. */
  #push(moment: ShownMoment): void {
    const ageS = ({ atS }: ShownMoment): number => moment.atS - atS
    this.moments = [...this.moments.filter((of) => ageS(of) > 0 && ageS(of) < historyS), moment]
  }
}
