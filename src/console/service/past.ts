/** The readings of the last ten minutes that the service has kept, and the topics' page: `/console/state`. Pure. */
import type { Listener } from '../shared/listener.js'
import { type Reading, readingOf } from './reading.js'

/** Samples of the same series: each is its time, in seconds since the epoch, and its values. */
interface Run {
  readonly series: readonly string[]
  readonly samples: readonly (readonly number[])[]
}

interface State {
  /** By the service's clock. */
  readonly nowS: number
  readonly topicsPage?: Listener
  readonly runs: readonly Run[]
}

export interface Past {
  readonly topicsPage: Listener | undefined
  /** In the order of time. Members that are only shown as of now are undefined. */
  readonly readings: readonly Reading[]
}

/** @param nowS by the browser's clock, to which times are converted @throws SyntaxError for a text that is not JSON */
export function pastOf(text: string, nowS: number): Past {
  const { nowS: serviceNowS, topicsPage, runs } = JSON.parse(text) as State
  const readings = runs.flatMap(({ series, samples }) =>
    samples.map(([serviceS = 0, ...values]) => {
      const lines = series.map((name, index) => `${name} ${values[index]}`)
      return readingOf(lines.join('\n'), { atS: serviceS + nowS - serviceNowS, tookS: 0, serviceS })
    }),
  )
  return { topicsPage, readings }
}
