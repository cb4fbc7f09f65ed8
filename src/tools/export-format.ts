/**
 * The lines of an export, which an import reads. Types only: export.ts writes them, import-line.ts reads them.
 */
import type { Operation } from '../store/api-keys.js'
import type { TopicType } from '../topics/topic.js'

/** A topic's line, as export writes it; type and properties may be left out as in a request. */
export interface TopicLine {
  readonly path: string
  readonly type?: TopicType
  readonly properties?: Readonly<Record<string, string>>
  readonly value?: unknown
}

/** The last line of an export: it is whole. */
export interface EndLine {
  /** How many lines of each came before. */
  readonly end: {
    /** @type uint64 */
    readonly topics: number
    /** @type uint64 */
    readonly keys: number
  }
}

/** An API key's line, as export writes it. */
export interface KeyLine {
  readonly key: {
    /** @pattern ^[\w.@-]{1,64}$ */
    readonly name: string
    /** @pattern ^[0-9a-f]{64}$ */
    readonly tokenHash: string
    readonly allow: readonly Operation[]
    readonly under: readonly string[]
    /**
     * @type uint64
     * @maximum 253402300799999
     */
    readonly madeMs: number
    /**
     * @type uint64
     * @maximum 253402300799999
     */
    readonly expiresMs?: number
    /**
     * @type uint32
     * @minimum 1
     * @maximum 1000000
     */
    readonly rate?: number
    readonly former?: {
      /** @pattern ^[0-9a-f]{64}$ */
      readonly tokenHash: string
      /**
       * @type uint64
       * @maximum 253402300799999
       */
      readonly untilMs: number
    }
  }
}
