/**
 * Where the members of a request body stand: finds the text of `value` in bytes that JSON.parse has already accepted, so
 * that a value is kept as it was sent and never printed again. Because the text is known to be valid, skipping a value is
 * a matter of strings and brackets only, whatever its depth.
 */
import { backslash, closeBrace, closeBracket, comma, openBrace, openBracket, quote, space } from './json-bytes.js'

/** The body's outermost members: how many there are, and the bytes of the one named `value`. */
export interface Members {
  readonly count: number
  /** A view into the body; undefined when there is no such member. */
  readonly valueText: Uint8Array | undefined
}

/** @param body UTF-8 of one JSON object, valid */
export function scanMembers(body: Uint8Array): Members {
  let at = skipSpace(body, 0) + 1
  let count = 0
  let valueText: Uint8Array | undefined
  for (;;) {
    at = skipSpace(body, at)
    if (body[at] === closeBrace) return { count, valueText }
    const nameStart = at
    at = skipString(body, at)
    const isValue = namesValue(body, nameStart, at)
    const start = skipSpace(body, skipSpace(body, at) + 1)
    at = skipValue(body, start)
    if (isValue) valueText = withoutSpace(body.subarray(start, at))
    count++
    at = skipSpace(body, at)
    if (body[at] === comma) at++
  }
}

function skipSpace(body: Uint8Array, at: number): number {
  while (body[at] <= space) at++
  return at
}

/** @returns the position after the closing quote of the string that begins at `at` */
function skipString(body: Uint8Array, at: number): number {
  for (;;) {
    at++
    const byte = body[at]
    if (byte === backslash) at++
    else if (byte === quote) return at + 1
  }
}

/** @returns the position after the value that begins at `at` */
function skipValue(body: Uint8Array, at: number): number {
  const first = body[at]
  if (first === quote) return skipString(body, at)
  if (first !== openBrace && first !== openBracket) {
    while (body[at] !== comma && body[at] !== closeBrace && body[at] > space) at++
    return at
  }
  let depth = 0
  do {
    const byte = body[at]
    if (byte === quote) {
      at = skipString(body, at)
      continue
    }
    if (byte === openBrace || byte === openBracket) depth++
    else if (byte === closeBrace || byte === closeBracket) depth--
    at++
  } while (depth > 0)
  return at
}

const valueName = Buffer.from('"value"')

/** Whether the name between `start` and `end`, quotes included, is `value`, however its letters are escaped. */
function namesValue(body: Uint8Array, start: number, end: number): boolean {
  if (end - start < valueName.length) return false
  const name = Buffer.from(body.buffer, body.byteOffset + start, end - start)
  if (end - start === valueName.length) return name.equals(valueName)
  return name.includes(backslash) && JSON.parse(name.toString()) === 'value'
}

/** Tabs and line ends never stand inside a JSON string, so wherever they do stand they mean nothing and are dropped. */
function withoutSpace(text: Uint8Array): Uint8Array {
  if (!text.includes(0x0a) && !text.includes(0x0d) && !text.includes(0x09)) return text
  return text.filter((byte) => byte >= space)
}
