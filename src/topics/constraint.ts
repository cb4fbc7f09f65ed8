/** Constraints on writes, as in compare-and-set. Pure: the stores check a constraint in the same step as its write. */
import { areSameTokens, withoutSpaces } from '../json/tokens.js'

/** `text` is JSON in UTF-8; `version` is an exact integer. `no_value` requires an existing topic without a value. */
export type Constraint =
  | { readonly kind: 'value'; readonly text: Uint8Array }
  | { readonly kind: 'version'; readonly version: number }
  | { readonly kind: 'no_value' }
  | { readonly kind: 'no_topic' }

/** The part of an existing topic that constraints depend on. */
export interface Constrained {
  hasValue(): boolean
  /** Ignores white space between tokens. @param text JSON, UTF-8 */
  hasText(text: Uint8Array): boolean
  /** False until the last change is written, because its version is not yet known. */
  hasVersion(version: number): boolean
}

export function holds(constraint: Constraint, topic: Constrained | undefined): boolean {
  switch (constraint.kind) {
    case 'no_topic':
      return topic === undefined
    case 'no_value':
      return topic !== undefined && !topic.hasValue()
    case 'version':
      return topic?.hasVersion(constraint.version) === true
    case 'value':
      return topic?.hasText(constraint.text) === true
    default:
      return constraint satisfies never
  }
}

/** Longer values with runs of spaces are kept without white space, so that padding cannot dominate a comparison's cost. */
const paddedBytesMax = 4096

const twoSpaces = Buffer.from('  ')

export class ValueText {
  readonly #text: Uint8Array

  /** @param text JSON, UTF-8; kept, or copied without white space */
  constructor(text: Uint8Array) {
    const bytes = Buffer.from(text.buffer, text.byteOffset, text.length)
    this.#text = text.length > paddedBytesMax && bytes.includes(twoSpaces) ? withoutSpaces(text) : text
  }

  get bytes(): number {
    return this.#text.length
  }

  /** Ignores white space between tokens. */
  is(text: Uint8Array): boolean {
    return areSameTokens(this.#text, text)
  }
}
