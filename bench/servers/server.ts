/**
 * The interface of servers: how to start one on a directory, the HTTP request of each operation, and the correct responses. A server that
 * does not support an operation has no exchange for it.
 */
import type { Operation } from '../workloads/operation.js'
import type { Tree } from '../workloads/tree.js'
import type { Counting } from './counting.js'

/** A request and the bodies of correct responses. */
export interface Exchange {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** Path and query of the URL. */
  readonly path: string
  readonly body: string
  /** The correct bodies; a response must be equal to one of them. */
  readonly expected: readonly string[]
  /** How to read the response to an increment, which is checked in place of `expected`. */
  readonly counting?: Counting
}

/** The parameters of a server's start. */
export interface Setting {
  /** Processes that serve requests, or threads if one process has many. */
  readonly workers: number
  /** The server's own directory on a real disk: empty, or as an earlier run of the same server left it. */
  readonly directory: string
  /** Bytes of the workload's responses, for the floor. */
  readonly responseBytes: number
}

/** A server running on 127.0.0.1. */
export interface Running {
  readonly port: number
  /** Sent with every request; `host` and `content-length` are the driver's. */
  readonly headers: Readonly<Record<string, string>>
  /** The headers with other keys, if the server was started with more keys. */
  readonly moreKeys?: readonly Readonly<Record<string, string>>[]
  /** Whether members consisting of digits (revisions) vary between responses and must be blanked before comparing. */
  readonly blankDigits: boolean
  /** Processes whose CPU time counts as the server's. */
  pids(): number[]
  /** Other processes whose CPU time counts, which may start and exit at any time: the backends of an engine. */
  transientPids?(): number[]
  exchange(operation: Operation): Exchange | undefined
  /** Stops the server cleanly; its directory can be copied afterwards. */
  stop(): Promise<void>
}

export interface Server {
  readonly name: string
  /** Versions of its parts; topicd's revision is in the machine's line. */
  readonly version: string | undefined
  /** Why the server cannot run on this machine; undefined if it can. */
  readonly missing?: string
  /** Names the format of the server's data: loaded data is reused while the name stays the same. Undefined if it stores nothing. */
  readonly dataFormat?: string
  /** Whether a write is on disk before its response, in words; other guarantees are probed (measure/guarantees.ts). */
  readonly durability: string
  /** Whether the server only returns constants, so that written values cannot be read back. */
  readonly answersConstants?: true
  start(setting: Setting): Promise<Running>
  /** Fills an empty directory, if there is a quicker way than creating every topic over HTTP. */
  readonly load?: (tree: Tree, directory: string) => Promise<void>
}

/** Blanks `"member":"123"`, for servers with `blankDigits`. */
export function blanked(text: string): string {
  return text.replace(/:"\d+"/g, ':""')
}
