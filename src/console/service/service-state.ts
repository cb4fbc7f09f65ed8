/** What is known of the service: whether it answers, whether it is ready and why not, and its last ten minutes. */
import { formatClock } from './formats.js'
import { History } from './history.js'
import { readingOf } from './reading.js'

/** The answers to one round of requests. */
export interface Answered {
  readonly readiness: { readonly status: number; readonly text: string }
  readonly metrics: string
  /** The service's clock, in seconds since the epoch; undefined if it did not say. */
  readonly serviceS: number | undefined
}

/** What a person is told first. It changes only when there is news, since a screen reader reads it aloud. */
export interface Summary {
  readonly kind: 'waiting' | 'ready' | 'not ready' | 'silent'
  readonly title: string
  readonly reasons: readonly string[]
}

export class ServiceState {
  readonly history = new History()
  summary: Summary = { kind: 'waiting', title: 'Reading…', reasons: [] }

  answered(nowS: number, { readiness, metrics, serviceS }: Answered): void {
    this.history.add(readingOf(metrics, nowS, serviceS ?? nowS))
    this.summary =
      readiness.status === 200
        ? { kind: 'ready', title: 'Ready', reasons: [] }
        : { kind: 'not ready', title: 'Not ready', reasons: reasonsOf(readiness.text) }
  }

  /** @param reason what went wrong, as a sentence */
  failed(nowS: number, reason: string): void {
    this.history.addGap(nowS)
    const { kind, title } = this.summary
    const since = kind === 'silent' ? title : `No answer since ${formatClock(nowS)}`
    this.summary = { kind: 'silent', title: since, reasons: [reason] }
  }
}

/** The first line says only that it is not ready. */
function reasonsOf(text: string): string[] {
  const lines = text.split('\n').filter((line) => line !== '')
  return lines[0] === 'not ready' ? lines.slice(1) : lines
}
