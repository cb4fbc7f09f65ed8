/**
 * The bytes of JSON that the body scanners look for, and a comparison of bytes.
 *
 * The scanners read `bytes[at] as number`: a byte past the end is undefined, and every comparison of it with a number
 * is false, so that a loop ends there. A bounds check would cost time for every byte.
 */
export const quote = 0x22
export const backslash = 0x5c
export const openBrace = 0x7b
export const closeBrace = 0x7d
export const openBracket = 0x5b
export const closeBracket = 0x5d
export const colon = 0x3a
export const comma = 0x2c
export const space = 0x20

/** Whether `text` is in `bytes` at `at`. */
export function isAt(bytes: Uint8Array, at: number, text: Uint8Array): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text[i]) return false
  return true
}
