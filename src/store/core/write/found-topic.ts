/** A topic as the decisions of one commit read it: its values once each, as far as constraints and increments ask for them. */
import { type Constrained, ValueText } from '../../../topics/constraint.js'
import type { Path } from '../../../topics/path.js'
import { removalOf } from '../../../topics/properties.js'
import type { RemovalPolicy } from '../../../topics/removal/policy.js'
import { type Properties, type TopicType, valueOfItem } from '../../../topics/topic.js'
import type { Stored, StoredTopic } from '../../engine.js'
import { StoreError } from '../../errors.js'
import type { Prepared } from './operations.js'

/** Values, in bytes, that one commit keeps for further constraints on the same topics; others are read again. */
const constrainedBytesKeptMax = 64 * 1024 * 1024

/**
 * Values, in bytes, that the constraints of one request may have read: to read and to strip one of a megabyte takes 2 to 5 ms,
 * and a request is decided at once. A constraint that holds is itself as long as the value, apart from white space, so few
 * requests need so many: 4,000 that do not hold, on values of 128 KiB.
 */
export const comparedBytesMax = 512 * 1024 * 1024

const noProperties: Properties = {}

/** What a decision needs of a topic at first. */
export const headAlone = { head: true, item: false, version: false }

/** Values that constraints are compared with, stored or set by an operation: read once each, as long as they are small together. */
export class ValueTexts {
  readonly #texts = new Map<Path | Prepared, ValueText>()
  #bytes = 0
  /** Those of one request. */
  #comparedBytes = 0

  beginRequest(): void {
    this.#comparedBytes = 0
  }

  /** @throws StoreError of the kind `retry` when a request needs too many */
  of(source: Path | Prepared, read: () => Uint8Array | undefined): ValueText | undefined {
    const known = this.#texts.get(source)
    const text = known === undefined ? read() : undefined
    if (text === undefined) return known
    this.#comparedBytes += text.length
    if (this.#comparedBytes > comparedBytesMax) throw new StoreError('retry', 'a request compares too many long values')
    const value = new ValueText(text)
    this.#bytes += value.bytes
    if (this.#bytes <= constrainedBytesKeptMax) this.#texts.set(source, value)
    return value
  }
}

export class FoundTopic implements Constrained {
  readonly type: TopicType
  readonly properties: Properties
  readonly policy: RemovalPolicy | undefined

  /**
   * Reads its properties, and the policy among them, unless it is to be removed: a topic of which these are damaged can be.
   *
   * @throws Error when they cannot be read
   */
  constructor(
    private readonly path: Path,
    readonly stored: StoredTopic,
    isRemoved: boolean,
    private readonly records: Stored,
    private readonly texts: ValueTexts,
  ) {
    const head = isRemoved ? undefined : stored.head()
    this.type = stored.type
    this.properties = head?.properties ?? noProperties
    this.policy = head && removalOf(head.properties)
  }

  hasValue(): boolean {
    return this.valueText() !== undefined
  }

  hasText(text: Uint8Array): boolean {
    const read = (): Buffer | undefined => {
      const value = this.valueText()
      return value && Buffer.from(value)
    }
    return this.texts.of(this.path, read)?.is(text) === true
  }

  hasVersion(version: number): boolean {
    return this.records.topic(this.path, this.type, { head: false, item: false, version: true })?.version === version
  }

  /** Its value as a view, valid until the next read; undefined without one. */
  valueText(): Uint8Array | undefined {
    const item = this.records.topic(this.path, this.type, { head: false, item: true, version: false })?.item
    return item && valueOfItem(item, this.path, this.type)
  }
}
