/** The last ten minutes: moments that the service has sent, by the browser's clock, and gaps. */
import type { Moment } from '../../ops/figures/console-state.js'

/** A gap has figures of nothing. */
export interface ShownMoment extends Moment {
  readonly isGap?: true
}

export const historyS = 600

/** No line crosses a longer pause, and an older moment is not now. The service's samples are at most 5 s apart. */
const gapS = 8

/** Only its own methods change it. */
export class History {
  moments: readonly ShownMoment[] = []
  /** The time of the last moment, by the service's clock. */
  sinceS = 0

  get last(): ShownMoment | undefined {
    return this.moments.at(-1)
  }

  /** When something was last known; undefined for now. */
  get asOfS(): number | undefined {
    return this.last?.isGap ? this.moments.findLast(({ isGap }) => !isGap)?.atS : undefined
  }

  /** @param sent ascending @param serviceS the time by the service's clock @param nowS by the browser's */
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

  /** Later moments were gaps here, of which the service knows more, or are from before a clock was set back. */
  #push(moment: ShownMoment): void {
    const ageS = ({ atS }: ShownMoment): number => moment.atS - atS
    this.moments = [...this.moments.filter((of) => ageS(of) > 0 && ageS(of) < historyS), moment]
  }
}
