/**
 * The interface of servers: how to start one on a directory, which HTTP request performs an operation, and which
 * answers are correct. A server that does not support an operation has no exchange for it.
 */
import type { Operation } from '../workloads/operation.js'
import type { Tree } from '../workloads/tree.js'
import type { Counting } from './counting.js'

/** One request and the bodies of correct answers. */
export interface Exchange {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** Path and query of the URL. */
  readonly path: string
  readonly body: string
  /** The correct bodies; an answer must be equal to one of them. */
  readonly expected: readonly string[]
  /** How the answer to an increment is read, which is checked in place of `expected`. */
  readonly counting?: Counting
}

/** How a server is started. */
export interface Setting {
  /** Processes (or, where one process has many threads, threads) that answer requests. */
  readonly workers: number
  /** Its own directory on a real disk: empty, or as an earlier run of the same server left it. */
  readonly directory: string
  /** Bytes of the answers of this workload, for the floor. */
  readonly responseBytes: number
}

/** A server that is running, on 127.0.0.1. */
export interface Running {
  readonly port: number
  /** Sent with every request; `host` and `content-length` are the driver's. */
  readonly headers: Readonly<Record<string, string>>
  /** The same with other keys, where it was started with more of them. */
  readonly moreKeys?: readonly Readonly<Record<string, string>>[]
  /** Whether members of digits only (revisions) differ between answers and must be blanked before comparing. */
  readonly blankDigits: boolean
  /** Processes whose CPU time is the server's. */
  pids(): number[]
  /** Others whose CPU time counts too, and that may start and end at any time: the backends of an engine. */
  transientPids?(): number[]
  exchange(operation: Operation): Exchange | undefined
  /** Stops it cleanly; its directory can be copied afterwards. */
  stop(): Promise<void>
}

export interface Server {
  readonly name: string
  /** Versions of its parts; topicd's revision is in the line about the machine. */
  readonly version: string | undefined
  /** Why it cannot run on this machine; undefined if it can. */
  readonly missing?: string
  /**
   * Names the format of its data: loaded data is reused while the name stays the same. Undefined: it stores nothing.
   */
  readonly dataFormat?: string
  /**
   * Whether a write is on disk before it is answered, in words; other guarantees are probed (measure/guarantees.ts).
   */
  readonly durability: string
  /** Whether it only answers constants: what it was given cannot be read back. */
  readonly answersConstants?: true
  start(setting: Setting): Promise<Running>
  /** Fills an empty directory, if there is a quicker way than to create every topic over HTTP. */
  readonly load?: (tree: Tree, directory: string) => Promise<void>
}

/** Blanks `"member":"123"`, for servers with `blankDigits`. */
export function blanked(text: string): string {
  return text.replace(/:"\d+"/g, ':""')
}
