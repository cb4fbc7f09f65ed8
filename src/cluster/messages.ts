/**
 * The messages between a parent and its children, over Node's IPC: the primary and its workers and tools, or the
 * command line and its tool. A rolling restart may bring in workers of a newer build, so kinds are added, never
 * changed.
 *
 * Types only, and what both ends share: parents import this file, and must not load what their children
 * load.
 */
import type { KeyCommand, KeyRequest, KeyResponses } from '../keys/requests.js'
import type { Metric } from '../ops/metrics/metric.js'
import type { Config } from '../settings/config.js'
import type { ToolWork } from '../tools/tool-messages.js'

export type Start = Extract<ToChild, { readonly kind: 'start' }>

/** For a child that may open the store. */
export type ToChild =
  /**
   * The first message, to a child that has loaded: an earlier one may get lost. The port is the real one, never 0. A
   * primary that does not announce keys sends no `keysChanged`, so its workers have to poll them.
   */
  | {
      readonly kind: 'start'
      readonly config: Config
      readonly port: number
      readonly announcesKeys?: true
      /** A writer serves; without one, the primary is of an earlier version, whose workers wrote themselves. */
      readonly hasWriter?: true
    }
  /** Open the store: no other process writes to it now. */
  | { readonly kind: 'open' }
  /** Listen, and serve. */
  | { readonly kind: 'serve' }
  /** To the writer: pause writes, and start no commit until `resumeWrites`. */
  | { readonly kind: 'pauseWrites' }
  | { readonly kind: 'resumeWrites' }
  /** Answer the requests in flight, close the store, and end. */
  | { readonly kind: 'drain' }
  /** A request that must not be acted on after `untilMs` of `machineMs`: another process gets it then. */
  | { readonly kind: 'request'; readonly id: number; readonly request: KeyRequest; readonly untilMs?: number }
  /** Refuse the API key of this name until `keysChanged` says that this revocation, which has a number, is over. */
  | { readonly kind: 'suspendKey'; readonly name: string; readonly revocation: number }
  /**
   * The API keys have been changed, perhaps: serve by them, and say so with `keysLoaded`. Then also accept the one that was
   * suspended for this revocation, if it is still stored.
   */
  | { readonly kind: 'keysChanged'; readonly id: number; readonly revocation?: number | undefined }
  /** Send your metrics; with `stored`, those of the store as well. */
  | { readonly kind: 'requestMetrics'; readonly stored: boolean }

export type FromChild =
  /** Everything is loaded, and messages arrive from now on; opening will take milliseconds. */
  | { readonly kind: 'loaded'; readonly version: string }
  | { readonly kind: 'opened' }
  | { readonly kind: 'serving' }
  | { readonly kind: 'paused' }
  /** Sent every second, which shows that the event loop runs. */
  | { readonly kind: 'heartbeat'; readonly writable: boolean; readonly storeProblem?: string | undefined }
  /**
   * Sent on request, and once more after the drain, so that no count is lost. Version 1.0.0 requests and sends `stats`
   * instead: with it at the other end, that process has no metrics.
   */
  | { readonly kind: 'metrics'; readonly metrics: readonly Metric[] }
  /** The child cannot go on, for this reason, and ends. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'response'; readonly id: number; readonly response: KeyResponses[KeyCommand] }
  /** With `nothingDone`, nothing came of the request, and nothing will. */
  | { readonly kind: 'noResponse'; readonly id: number; readonly reason: string; readonly nothingDone?: boolean }
  /** From now on it serves by the API keys as they were when it got `keysChanged`, or later ones. */
  | { readonly kind: 'keysLoaded'; readonly id: number }

/** The last message to a tool: its work, with the connection as the message's handle, or on `connectionDescriptor`. */
export type ToolMessage =
  | { readonly kind: 'tool'; readonly work: ToolWork }
  /** While no service runs. */
  | { readonly kind: 'request'; readonly request: KeyRequest }

export type ToTool =
  | { readonly kind: 'start'; readonly config: Config; readonly hasWriter?: true }
  | Extract<ToChild, { kind: 'open' }>
  | ToolMessage

/** The descriptor of a tool's connection if none comes with its message. */
export const connectionDescriptor = 5

/** By a clock that all processes of this machine share, and that never goes back. */
export function machineMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}
