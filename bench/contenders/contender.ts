/**
 * What the runner knows of a contender: how to start it on a home directory, how to put an operation to it over HTTP, and
 * which answer is then right. A contender that cannot do an operation says so by having no exchange for it.
 */
import type { Operation } from '../work/operation.js'
import type { Tree } from '../work/tree.js'

/** One request and the bodies that answer it rightly. */
export interface Exchange {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** Path and query of the URL. */
  readonly path: string
  readonly body: string
  /** The whole body of a right answer, or one of several. */
  readonly answers: readonly string[]
}

/** How a contender is to run. */
export interface Setting {
  /** Processes (or, where one process has many threads, threads) that answer requests. */
  readonly workers: number
  /** A directory of its own on a real disk; empty, or as an earlier run of the same contender left it. */
  readonly home: string
  /** Bytes of the answers of this workload, for the floor. */
  readonly answerBytes: number
}

/** A contender that runs and answers on 127.0.0.1. */
export interface Running {
  readonly port: number
  /** Sent with every request; `host` and `content-length` are the driver's. */
  readonly headers: Readonly<Record<string, string>>
  /** Members that hold nothing but digits (revisions) differ from answer to answer: they are blanked before comparing. */
  readonly blankDigits: boolean
  /** Processes whose CPU time is the contender's. */
  pids(): number[]
  /** Others whose CPU time is the contender's too, and which may come and go: the backends of an engine. */
  passingPids?(): number[]
  exchange(operation: Operation): Exchange | undefined
  /** Ends it in order; its home can then be copied. */
  stop(): Promise<void>
}

export interface Contender {
  readonly name: string
  /** Versions of what it is made of; the machine's line says topicd's own. */
  readonly version: string | undefined
  /** Why it cannot run on this machine, if it cannot. */
  readonly missing?: string
  /** Names the format of its home: homes are kept and used again as long as it stays the same. None: it stores nothing. */
  readonly homeKey?: string
  /** Whether a write is on disk before it is answered, in words; what else it promises is asked of it (promises.ts). */
  readonly durability: string
  start(setting: Setting): Promise<Running>
  /** Fills an empty home, where that is quicker than to start on it and create one topic after the other. */
  readonly load?: (tree: Tree, home: string) => Promise<void>
}

/** Blanks `"member":"123"`, for contenders with `blankDigits`. */
export function blanked(text: string): string {
  return text.replace(/:"\d+"/g, ':""')
}
