/**
 * The messages between a parent and its children, over Node's IPC: the primary and its writers, workers and tools, or the
 * command line and its tool. A rolling restart may bring in workers from a newer build, so kinds are added, never changed.
 *
 * Only types and code that both ends share: parents import this file, and must not load the code of their children.
 */
import type { KeyCommand, KeyRequest, KeyResponses } from '../keys/requests.js'
import type { Metric } from '../ops/metrics/metric.js'
import type { Config } from '../settings/config.js'
import type { ToolWork } from '../tools/tool-messages.js'

export type Start = Extract<ToChild, { readonly kind: 'start' }>

/** For a child that may open the store. */
export type ToChild =
  /**
   * The first message, sent after `loaded` because an earlier message might be lost. The port is the actual one, never 0.
   * A primary that does not announce keys sends no `keysChanged`, so its workers have to poll the keys.
   */
  | {
      readonly kind: 'start'
      readonly config: Config
      readonly port: number
      readonly announcesKeys?: true
      /** A writer is running. If absent on LMDB, the primary runs an earlier version, in which workers wrote to the store. */
      readonly hasWriter?: true
    }
  /** Open the store: no other process is writing to it now. */
  | { readonly kind: 'open' }
  /** Listen, and serve. */
  | { readonly kind: 'serve' }
  /** For the writer: pause writes, and start no commit until `resumeWrites`. */
  | { readonly kind: 'pauseWrites' }
  | { readonly kind: 'resumeWrites' }
  /** Answer the requests in flight, close the store, and exit. */
  | { readonly kind: 'drain' }
  /** A request that must not be executed after `untilMs` (see `machineMs`), because another process then gets it. */
  | { readonly kind: 'request'; readonly id: number; readonly request: KeyRequest; readonly untilMs?: number }
  /** Reject the API key with this name until a `keysChanged` with this revocation's number arrives. */
  | { readonly kind: 'suspendKey'; readonly name: string; readonly revocation: number }
  /**
   * The API keys may have changed: load them, and confirm with `keysLoaded`. Then also accept the key that was suspended for
   * this revocation, if it is still stored.
   */
  | { readonly kind: 'keysChanged'; readonly id: number; readonly revocation?: number | undefined }
  /** Send your metrics, including the store's metrics if `stored` is set. */
  | { readonly kind: 'requestMetrics'; readonly stored: boolean }

export type FromChild =
  /** All code is loaded and messages are handled from now on; opening will take milliseconds. */
  | { readonly kind: 'loaded'; readonly version: string }
  | { readonly kind: 'opened' }
  | { readonly kind: 'serving' }
  | { readonly kind: 'paused' }
  /** Sent every second to show that the event loop is running. */
  | { readonly kind: 'heartbeat'; readonly writable: boolean; readonly storeProblem?: string | undefined }
  /**
   * Sent on request and again at the end of a drain, so that no count is lost. Version 1.0.0 requests and sends `stats`
   * instead, so a process has no metrics if either end runs that version.
   */
  | { readonly kind: 'metrics'; readonly metrics: readonly Metric[] }
  /** The child cannot continue for this reason, and exits. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'response'; readonly id: number; readonly response: KeyResponses[KeyCommand] }
  /** With `nothingDone`, the request had no effect and will have none. */
  | { readonly kind: 'noResponse'; readonly id: number; readonly reason: string; readonly nothingDone?: boolean }
  /** The child now uses the API keys as they were when it received `keysChanged`, or later ones. */
  | { readonly kind: 'keysLoaded'; readonly id: number }

/** The last message to a tool: its work. The connection is the message's handle, or on `connectionDescriptor`. */
export type ToolMessage =
  | { readonly kind: 'tool'; readonly work: ToolWork }
  /** Sent only while no service runs. */
  | { readonly kind: 'request'; readonly request: KeyRequest }

export type ToTool =
  | { readonly kind: 'start'; readonly config: Config; readonly hasWriter?: true }
  | Extract<ToChild, { kind: 'open' }>
  | ToolMessage

/** The descriptor of a tool's connection if its message has no handle. */
export const connectionDescriptor = 5

/** The time of a clock that never runs backwards and that all processes of this machine share. */
export function machineMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}
