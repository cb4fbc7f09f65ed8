/**
 * Constraints: what a client requires of a topic before its write is carried out, as in compare-and-set. Pure: the
 * stores decide them in the same step as the write.
 */
import { areSameTokens, withoutSpaces } from '../json/tokens.js'

/**
 * One of four requirements: the topic has exactly this value; it has this version; it exists and has no value; there is
 * no topic. `text` is JSON, UTF-8; a version is an integer that a number can hold exactly.
 */
export type Constraint =
  | { readonly kind: 'value'; readonly text: Uint8Array }
  | { readonly kind: 'version'; readonly version: number }
  | { readonly kind: 'no_value' }
  | { readonly kind: 'no_topic' }

/** A topic that exists, as far as a constraint on it depends on it. */
export interface Constrained {
  hasValue(): boolean
  /** Whether its value is this text: JSON, UTF-8, white space between tokens aside. */
  hasText(text: Uint8Array): boolean
  /** Whether its last change has this version: false where that change is not written yet, so that none is known. */
  hasVersion(version: number): boolean
}

/** Whether a constraint holds for a topic; undefined where there is none. */
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

/** A longer text with runs of spaces is compared without them: padding must not cost more than what is compared. */
const paddedBytesMax = 4096

const twoSpaces = Buffer.from('  ')

/** A value's text, to be compared with those of constraints. */
export class ValueText {
  readonly #text: Uint8Array

  /** @param text JSON, UTF-8; kept, unless most of it is padding */
  constructor(text: Uint8Array) {
    const bytes = Buffer.from(text.buffer, text.byteOffset, text.length)
    this.#text = text.length > paddedBytesMax && bytes.includes(twoSpaces) ? withoutSpaces(text) : text
  }

  get bytes(): number {
    return this.#text.length
  }

  /** Whether the two texts differ at most in the white space between their tokens. */
  is(text: Uint8Array): boolean {
    return areSameTokens(this.#text, text)
  }
}
