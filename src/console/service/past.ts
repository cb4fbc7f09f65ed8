/**
 * What the service has kept of its last ten minutes, as readings, and where the page of the topics is: what
 * `/console/state` says. Pure.
 */
import type { Listener } from '../shared/listener.js'
import { type Reading, readingOf } from './reading.js'

/** Samples whose series are the same; of each the time, in seconds since the epoch, and its values. */
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
  /** In the order of time. What is only shown as of now is undefined in them. */
  readonly readings: readonly Reading[]
}

/**
 * @param text JSON
 * @param nowS by the browser's clock, to which the times are converted
 * @throws SyntaxError for a text that is not JSON
 */
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
