/** What the console asks of the primary, which answers for the whole service. The worker answers for one that cannot. */
import type { Peer } from '../../http/answer.js'
import type { SendForMaker } from '../../keys/requests.js'
import { type Problem, problem } from '../problems.js'

/** The service at a glance: the answer of `/console/overview`. */
export interface Overview {
  readonly version: string
  /** When the service was started, in ISO 8601. */
  readonly started: string
  readonly ready: boolean
  /** Why it is not ready, one sentence each. */
  readonly problems: readonly string[]
  /** null while the store is unavailable. */
  readonly topics: number | null
  readonly streams: number
  /** Requests that may wait for a change. */
  readonly polls: number
  readonly connections: number
  /** Since the last time that this was asked; undefined if that is too long ago. */
  readonly requests_per_second?: number | undefined
}

export interface Primary {
  /** @param peer for the audit */
  readonly keysFor: (peer: Peer) => SendForMaker
  /** @throws Error if no answer comes in time */
  overview(): Promise<Overview>
}

/** For a primary that answers no questions. */
export const earlierVersion: Problem = problem('console_unavailable', {
  problem: 'the running service is of an earlier version until it is restarted',
})
