/**
 * The lines of an export, which an import reads. Types only: export.ts writes them, import-line.ts reads them.
 */
import type { KeyRecord } from '../keys/record.js'
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
    /**
     * @type uint64
     * @maximum 9007199254740991
     */
    readonly topics: number
    /**
     * @type uint64
     * @maximum 9007199254740991
     */
    readonly keys: number
  }
}

/** An API key's line, as export writes it. */
export interface KeyLine {
  readonly key: KeyRecord<string>
}
