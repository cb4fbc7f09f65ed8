/** JSON strings: what they spell, once a reader has checked them, and how a text is written as one. */
import { writeText } from '../base/text.js'

/** A longer string is not kept. */
const shortMax = 16

/** Recent ASCII strings without escapes. Finding one takes a fifth of decoding it: a batch takes a twelfth less. */
const recent: string[] = Array.from({ length: 256 }, () => '')

/** The string whose quotes are at `start` and before `end`. */
export function stringAt(bytes: Buffer, start: number, end: number): string {
  const from = start + 1
  const length = end - 1 - from
  if (length > shortMax) return decoded(bytes, from, end - 1)
  const place = ((bytes[from] as number) * 7 + (bytes[end - 2] as number) * 31 + length) & 0xff
  const known = recent[place] as string
  if (known.length === length && isAt(bytes, from, known)) return known
  const string = decoded(bytes, from, end - 1)
  // Any escape and any other character has more bytes than units.
  if (string.length === length) recent[place] = string
  return string
}

/** @param text in ASCII */
export function isAt(bytes: Buffer, start: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[start + i] !== text.charCodeAt(i)) return false
  return true
}

function decoded(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start, end)
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
}

/** Any character that JSON text may have to escape, or to encode. */
const notPlain = /[^ !#-[\]-~]/

/** The JSON text of a string. Where nothing is to be escaped, V8's own function would take five times as long. */
export function quoted(text: string): string {
  return notPlain.test(text) ? JSON.stringify(text) : `"${text}"`
}

/** Writes what `quoted` returns into a buffer that has room for it. @returns the position after it */
export function writeQuoted(target: Buffer, start: number, text: string): number {
  return writeText(target, start, quoted(text))
}
