/** The state of the service: whether it answers, whether it is ready and why not, and its last ten minutes. */

import type { Listener } from '../shared/listener.js'
import { formatClock } from './formats.js'
import { History } from './history.js'
import type { Past } from './past.js'
import { readingOf } from './reading.js'

/** `problem` is a sentence. */
export interface Failure {
  readonly problem: string
}

interface Readiness {
  readonly status: number
  readonly text: string
}

interface Metrics {
  readonly text: string
  /** By the service's clock, in seconds since the epoch; undefined if it did not report it. */
  readonly serviceS: number | undefined
  readonly tookS: number
}

/** Requests that are sent at the same time, each answered or not. */
export interface Round {
  /** By the browser's clock, in seconds since the epoch. */
  readonly askedS: number
  readonly readiness: Readiness | Failure
  readonly metrics: Metrics | Failure
  /** Undefined if it was not requested, or not answered. */
  readonly past?: Past | undefined
}

/** It changes only when there is news, because a screen reader reads it aloud. */
export interface Summary {
  readonly kind: 'waiting' | 'ready' | 'not ready' | 'silent'
  readonly title: string
  readonly reasons: readonly string[]
}

export class ServiceState {
  readonly history = new History()
  #summary: Summary = { kind: 'waiting', title: 'Reading…', reasons: [] }
  #answeredS: number | undefined
  #firstVersion: string | undefined
  #topicsPage: Listener | undefined

  get summary(): Summary {
    return this.#summary
  }

  /** The service's version when the page was opened, which is that of the page. */
  get pageVersion(): string | undefined {
    return this.#firstVersion
  }

  /** Undefined until the service reports it. */
  get topicsPage(): Listener | undefined {
    return this.#topicsPage
  }

  add({ askedS, readiness, metrics, past }: Round): void {
    const isSilent = 'problem' in readiness && 'problem' in metrics
    if (!isSilent) this.#answeredS = askedS
    if ('problem' in metrics) this.history.addGap(askedS)
    else {
      if (past !== undefined) {
        this.history.addPast(past.readings.filter(({ atS }) => atS < askedS))
        this.#topicsPage = past.topicsPage
      }
      const { text, tookS, serviceS = askedS + tookS } = metrics
      this.history.add(readingOf(text, { atS: askedS, tookS, serviceS }))
      this.#firstVersion ??= this.history.lastReading?.version
    }
    this.#summary = isSilent ? this.#silence(readiness.problem) : summaryOf(readiness, metrics)
  }

  #silence(problem: string): Summary {
    const title = this.#answeredS === undefined ? 'No response' : `No response since ${formatClock(this.#answeredS)}`
    return { kind: 'silent', title, reasons: [problem] }
  }
}

function summaryOf(readiness: Round['readiness'], metrics: Round['metrics']): Summary {
  const lacking = 'problem' in metrics ? [`The metrics cannot be read. ${metrics.problem}`] : []
  if ('problem' in readiness) {
    return { kind: 'not ready', title: 'Readiness unknown', reasons: [readiness.problem, ...lacking] }
  }
  const { status, text } = readiness
  if (status === 200) return { kind: 'ready', title: 'Ready', reasons: lacking }
  return { kind: 'not ready', title: 'Not ready', reasons: [...reasonsOf(text), ...lacking] }
}

/** The first line of /readyz reports only that the service is not ready. */
function reasonsOf(text: string): string[] {
  const lines = text.split('\n').filter((line) => line !== '')
  return lines[0] === 'not ready' ? lines.slice(1) : lines
}
