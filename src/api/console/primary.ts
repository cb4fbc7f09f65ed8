/** Requests from the console to the primary, which responds on behalf of the whole service. */
import type { KeyCommand, KeyRequestOf, KeyResponse } from '../../keys/requests.js'

/** The overview of the service: the response from `/console/overview`. */
export interface Overview {
  readonly version: string
  /** The time at which the service was started, in ISO 8601. */
  readonly started: string
  readonly ready: boolean
  /** The reasons why the service is not ready, one sentence each. */
  readonly problems: readonly string[]
  /** The number of topics; null while the store is unavailable. */
  readonly topics: number | null
  readonly streams: number
  readonly connections: number
}

/** Each method throws NothingDone if the request certainly had no effect, and another Error if it may have had one. */
export interface Primary {
  keys<Command extends KeyCommand>(request: KeyRequestOf<Command>): Promise<KeyResponse<Command>>
  overview(): Promise<Overview>
}
