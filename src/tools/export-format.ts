/** The types of the lines of an export: export.ts writes them, import-line.ts reads them. */
import type { KeyRecord } from '../keys/record.js'
import type { TopicType } from '../topics/topic.js'

/** A topic's line. An export always has type and properties; an import may omit them, as in a request. */
export interface TopicLine {
  readonly path: string
  readonly type?: TopicType
  readonly properties?: Readonly<Record<string, string>>
  readonly value?: unknown
}

/** The last line of an export, which proves that it is complete. */
export interface EndLine {
  /** The number of earlier lines of each kind. */
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

/** The line of an API key. */
export interface KeyLine {
  readonly key: KeyRecord<string>
}
