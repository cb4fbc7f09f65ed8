/**
 * Skipping over JSON text, byte by byte, before JSON.parse has seen it. In a text that is not JSON the positions mean
 * nothing, and only progress is certain: every function returns at least the position that it is given.
 */
import { backslash, closeBrace, closeBracket, comma, openBrace, openBracket, quote, space } from './json-bytes.js'

/** In place of a value's end: the value has too many levels, and was not read further. */
export const tooDeep = -1

/** @returns the position of the first byte from `at` on that is not white space */
export function skipSpace(body: Uint8Array, at: number): number {
  while ((body[at] as number) <= space) at++
  return at
}

/**
 * Bytes of a string that are looked at one by one, before Buffer's search for the closing quote, and again after an
 * escaped quote. That search is a hundred times as fast on a long string, and costs as much as about ten such steps.
 */
const bytesPerSearch = 32

/** @returns the position after the closing quote of the string that begins at `at` */
export function skipString(body: Buffer, at: number): number {
  const near = at + bytesPerSearch
  while (++at <= near) {
    const byte = body[at]
    if (byte === quote) return at + 1
    if (byte === backslash) at++
  }
  return skipLongString(body, at)
}

/** The same from a position within the string. It is a function of its own so that V8 inlines the short loop alone. */
function skipLongString(body: Buffer, at: number): number {
  const { length } = body
  let end = at
  while (end < length) {
    const found = body.indexOf(quote, end)
    if (found === -1) return length
    if (!isEscaped(body, found)) return found + 1
    end = found + 1
    for (const near = end + bytesPerSearch; end < near; end++) {
      const byte = body[end]
      if (byte === quote) return end + 1
      if (byte === backslash) end++
    }
  }
  return length
}

/** Whether the quote at `at`, in a string, has an odd number of backslashes before it. */
function isEscaped(body: Buffer, at: number): boolean {
  let start = at
  while (body[start - 1] === backslash) start--
  return (at - start) % 2 === 1
}

/** @returns the position after the value that begins at `at`, or `tooDeep` */
export function skipValue(body: Buffer, at: number, levelsMax: number): number | typeof tooDeep {
  const { length } = body
  const first = body[at]
  if (first === quote) return skipString(body, at)
  if (first !== openBrace && first !== openBracket) {
    while (isScalar[body[at] as number] === 1) at++
    return at
  }
  let levels = 0
  while (at < length) {
    const byte = body[at] as number
    if (isStructural[byte] === 0) at++
    else if (byte === quote) at = skipString(body, at)
    else {
      at++
      if (byte === openBrace || byte === openBracket) {
        if (++levels > levelsMax) return tooDeep
      } else if (--levels === 0) return at
    }
  }
  return length
}

/** 1 at each byte that begins or ends a string, an object or an array. */
const isStructural = new Uint8Array(256)
for (const byte of [quote, openBrace, closeBrace, openBracket, closeBracket]) isStructural[byte] = 1

/** 1 at each byte that can be within a number or a literal; the end of a text reads as undefined, and is none. */
const isScalar = new Uint8Array(256).fill(1, space + 1)
for (const byte of [comma, closeBrace, closeBracket]) isScalar[byte] = 0
