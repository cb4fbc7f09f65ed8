/** The state of the service: whether it answers, whether it is ready and why not, its figures, and its last ten minutes. */
import type { ConsoleState } from '../../ops/figures/console-state.js'
import { formatClock } from '../shared/formats.js'
import { History } from './history.js'

/** `problem` is a sentence. */
interface Failure {
  readonly problem: string
  /** True if nothing answered. */
  readonly isSilent: boolean
}

/** The text of the state, or none. */
export type Answer = { readonly text: string } | Failure

/** It changes only when there is news, because a screen reader reads it aloud. */
interface Summary {
  readonly kind: 'waiting' | 'ready' | 'not ready' | 'silent'
  readonly title: string
  readonly reasons: readonly string[]
}

/** Another build may leave out members that were added later. */
type Received = Partial<ConsoleState>

/** Only its own methods change it. */
export class ServiceState {
  readonly history = new History()
  summary: Summary = { kind: 'waiting', title: 'Reading…', reasons: [] }
  /** The last state that could be read; empty before it. */
  received: Received = {}
  /** The service's version when the page was opened, which is that of the page. */
  pageVersion: string | undefined
  #answeredS: number | undefined

  /** @param nowS by the browser's clock */
  add(answer: Answer, nowS: number): void {
    if (!('isSilent' in answer && answer.isSilent)) this.#answeredS = nowS
    const read = 'text' in answer ? receivedIn(answer.text) : answer
    if ('problem' in read) this.history.addGap(nowS)
    else {
      this.received = read
      this.pageVersion ??= read.facts?.version
      this.history.add(read.moments ?? [], read.nowS ?? nowS, nowS)
    }
    this.summary = 'problem' in read ? this.#failure(read) : this.#readiness(read)
  }

  #failure({ problem, isSilent }: Failure): Summary {
    const reasons = [problem]
    if (!isSilent) return { kind: 'not ready', title: 'Readiness unknown', reasons }
    const title = this.#answeredS === undefined ? 'No response' : `No response since ${formatClock(this.#answeredS)}`
    return { kind: 'silent', title, reasons }
  }

  #readiness({ notReadyReasons = [] }: Received): Summary {
    const lacking = this.history.last?.isGap ? ["The metrics cannot be read. The service's log says why."] : []
    const reasons = [...notReadyReasons, ...lacking]
    if (notReadyReasons.length === 0) return { kind: 'ready', title: 'Ready', reasons }
    return { kind: 'not ready', title: 'Not ready', reasons }
  }
}

/** Fails for another form, such as that of 1.0.0. */
function receivedIn(text: string): Received | Failure {
  try {
    const received = JSON.parse(text) as Received
    if (Array.isArray(received.notReadyReasons) && Array.isArray(received.moments)) return received
  } catch {
    // The same advice may help.
  }
  return { problem: 'The service has another version than this page: reload the page.', isSilent: false }
}
