/** What the console asks of the primary, which answers for the whole service. */
import type { KeyCommand, KeyRequestOf, KeyResponse } from '../../keys/requests.js'

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
  readonly connections: number
}

/** Each throws NothingDone if nothing came of it, and another Error if that is not certain. */
export interface Primary {
  keys<Command extends KeyCommand>(request: KeyRequestOf<Command>): Promise<KeyResponse<Command>>
  overview(): Promise<Overview>
}
