/** The state of the service: connection, readiness with the reasons, figures, and the last ten minutes. */
import type { ConsoleState } from '../../ops/figures/console-state.js'
import { formatClock } from '../shared/formats.js'
import { History } from './history.js'

interface Failure {
  /** A sentence. */
  readonly problem: string
  /** True if there was no response. */
  readonly isSilent: boolean
}

/** The text of the state, or the failure to read it. */
export type Answer = { readonly text: string } | Failure

/** Changes only if the state does, because screen readers announce each change. */
interface Summary {
  readonly kind: 'waiting' | 'ready' | 'not ready' | 'silent'
  readonly title: string
  readonly reasons: readonly string[]
}

/** A state in which members may be missing, because another build sent it. */
type Received = Partial<ConsoleState>

/** Changed only by its own methods. */
export class ServiceState {
  readonly history = new History()
  summary: Summary = { kind: 'waiting', title: 'Reading…', reasons: [] }
  /** The last state that could be read; initially empty. */
  received: Received = {}
  /** The service's version when the page was opened, which is also the page's version. */
  pageVersion: string | undefined
  #answeredS: number | undefined

  /** @param nowS the time on the browser's clock */
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
    const lacking = this.history.last?.isGap
      ? ["The metrics cannot be read; the service's log contains the reason."]
      : []
    const reasons = [...notReadyReasons, ...lacking]
    if (notReadyReasons.length === 0) return { kind: 'ready', title: 'Ready', reasons }
    return { kind: 'not ready', title: 'Not ready', reasons }
  }
}

/** A failure if the text has another format, such as that of version 1.0.0. */
function receivedIn(text: string): Received | Failure {
  try {
    const received = JSON.parse(text) as Received
    if (Array.isArray(received.notReadyReasons) && Array.isArray(received.moments)) return received
  } catch {
    // The advice below may also help.
  }
  return { problem: 'The service and this page have different versions. Reload the page.', isSilent: false }
}
