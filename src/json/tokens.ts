/** Compares the tokens of JSON that a reader has checked, and removes the white space between tokens. */
import { backslash, quote, space } from './bytes.js'

/** True if only white space between tokens differs: `1.0` differs from `1`, and an escaped letter from the plain one. */
export function areSameTokens(a: Uint8Array, b: Uint8Array): boolean {
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

/** A copy without white space between tokens. */
export function withoutSpaces(text: Uint8Array): Uint8Array {
  const kept = Buffer.allocUnsafeSlow(text.length)
  let end = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] as number
    if (byte <= space && !inString) continue
    kept[end++] = byte
    if (byte === quote) inString = !inString
    else if (byte === backslash && inString) kept[end++] = text[++at] as number
  }
  // A copy, so that the large buffer is released.
  return Buffer.from(kept.subarray(0, end))
}

const isKept = new Uint8Array(256).fill(1, space)

/** A copy without tabs and line ends, which cannot occur in a JSON string and so have no meaning. */
export function withoutBreaks(text: Uint8Array): Uint8Array {
  // `filter` would take 30 times as long.
  const kept = Buffer.allocUnsafeSlow(text.length)
  let end = 0
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] as number
    kept[end] = byte
    // Without a branch, because the processor would often mispredict it.
    end += isKept[byte] as number
  }
  return kept.subarray(0, end)
}
