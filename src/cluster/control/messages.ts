/**
 * The messages on the control socket, in both directions: types only. protocol.ts reads and writes their lines;
 * validators.ts checks input against these types.
 */
import type { Overview } from '../../api/console/primary.js'
import type { KeyRequest, KeyResponses } from '../../keys/requests.js'
import type { ToolWork } from '../../tools/tool-messages.js'
import type { Path } from '../../topics/path.js'

/** A subtree of a key may be any string when it arrives. */
export type ControlRequest<Subtree extends string = Path> =
  | KeyRequest<Subtree>
  /** The keys of a store shared by several hosts were changed: have every worker load them. */
  | { readonly command: 'keysChanged' }
  /** Sent by a worker, for the console. */
  | { readonly command: 'overview' }
  /** Read the settings again and replace the workers. */
  | { readonly command: 'reload' }
  /** Run a tool in its own process, which then owns the connection and sends its own lines. */
  | ({ readonly command: 'tool' } & ToolWork)

/** The response to each request, except requests for a tool. */
export interface Responses extends KeyResponses {
  readonly keysChanged: true
  readonly overview: Overview
  readonly reload: Reloaded
}

export interface Reloaded {
  /** The number of workers that serve now, all of them started by this reload. */
  readonly workers: number
  /** The versions of their builds: only one, unless the build was replaced during the reload. */
  readonly versions: readonly string[]
  /** The version of the primary, which only a restart replaces. */
  readonly primaryVersion: string
  readonly tookMs: number
  /** The names of settings that have changed and need a restart. */
  readonly restartNeeded: readonly string[]
}

/** The service rejects or abandons the request. */
export interface ErrorLine {
  readonly error: string
  /** The request had no effect and will have none. */
  readonly nothingDone?: true
}

/** The line that responds to a request. */
export interface ResponseLine<Command extends keyof Responses = keyof Responses> {
  readonly response: Responses[Command]
  /** After a change to API keys: the process ids of the workers that may still use the former keys. */
  readonly late?: readonly number[]
}
