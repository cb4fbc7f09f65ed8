/**
 * Constraints: what a client requires of a topic before its write is carried out, as in compare-and-set. Pure: the
 * stores decide them in the same step as the write.
 */

/**
 * One of three requirements: the topic has exactly this value; the topic exists and has no value; there is no topic.
 * `text` is JSON, UTF-8.
 */
export type Constraint =
  | { readonly kind: 'value'; readonly text: Uint8Array }
  | { readonly kind: 'no_value' }
  | { readonly kind: 'no_topic' }

/**
 * Whether a constraint holds for a topic.
 *
 * @param exists whether there is a topic
 * @param valueText reads its value, JSON, UTF-8; undefined for none. Called only if there is a topic, and at most once
 */
export function holds(constraint: Constraint, exists: boolean, valueText: () => Uint8Array | undefined): boolean {
  if (constraint.kind === 'no_topic') return !exists
  if (!exists) return false
  const text = valueText()
  if (constraint.kind === 'no_value') return text === undefined
  return text !== undefined && areSameTokens(text, constraint.text)
}

const space = 0x20
const quote = 0x22
const backslash = 0x5c

/**
 * Whether two JSON texts differ at most in the white space between their tokens. So `1.0` is not `1`, and an escaped
 * letter is not the letter: a value is its text.
 */
function areSameTokens(a: Uint8Array, b: Uint8Array): boolean {
  let i = 0
  let j = 0
  let inString = false
  for (;;) {
    if (!inString) {
      while ((a[i] as number) <= space) i++
      while ((b[j] as number) <= space) j++
    }
    const byte = a[i++]
    if (byte !== b[j++]) return false
    if (byte === undefined) return true
    if (byte === quote) inString = !inString
    else if (byte === backslash && inString) {
      // The escaped character may be a quote.
      if (a[i] !== b[j]) return false
      i++
      j++
    }
  }
}
