/**
 * JSON syntax errors, as numbers while JSON is read, and as phrases for its sender. The wording is our own, because the
 * messages of JSON.parse differ between versions of Node.js.
 */
import { space } from './bytes.js'

/** Encodes the position of the first wrong byte and the expected syntax; negative, unlike a position. */
export type Wrong = number

/** Greater than the number of expectations. */
const expectationsMax = 32
const expectations: string[] = []

function expectation(words: string): number {
  return expectations.push(words) - 1
}

export const aValue = expectation('a value')
export const aValueOrEnd = expectation('a value or "]"')
export const aName = expectation('a member name in double quotes')
export const aNameOrEnd = expectation('a member name in double quotes or "}"')
export const aColon = expectation('":"')
export const afterMember = expectation('"," or "}"')
export const afterElement = expectation('"," or "]"')
export const theEnd = expectation('the end')
export const aDigit = expectation('a digit')
export const theRestOf = {
  true: expectation('the rest of "true"'),
  false: expectation('the rest of "false"'),
  null: expectation('the rest of "null"'),
}
export const anEscape = expectation('an escape such as \\n or \\u0000 instead')
export const anEscapeLetter = expectation('one of " \\ / b f n r t u after the backslash')
export const aHexadecimalDigit = expectation('a hexadecimal digit')
/** Missing at the end of the text; the position is the start of the string. */
export const aClosingQuote = expectation('the closing quote of the string that starts at byte ')
/** Not a syntax error: arrays and objects are nested too deeply. */
export const fewerLevels = expectation('fewer levels')

export function wrongAt(at: number, expected: number): Wrong {
  return -1 - (at * expectationsMax + expected)
}

export function isTooDeep(wrong: Wrong): boolean {
  return (-1 - wrong) % expectationsMax === fewerLevels
}

/** A phrase that follows "is not valid JSON:"; bytes are counted from 1. */
export function describeWrong(text: Uint8Array, wrong: Wrong): string {
  const expected = (-1 - wrong) % expectationsMax
  const at = Math.floor((-1 - wrong) / expectationsMax)
  const [found, start] = expected === aClosingQuote ? [text.length, at + 1] : [at, '']
  return `found ${nameOf(text, found)} at byte ${found + 1}, expected ${expectations[expected]}${start}`
}

/** Bytes examined to name the wrong text: enough for any word that a program might print by mistake. */
const foundBytesMax = 20

/** The word or character at an index, or the end, as shown in a message. */
function nameOf(text: Uint8Array, at: number): string {
  if (at >= text.length) return 'the end'
  const rest = Buffer.from(text.subarray(at, at + foundBytesMax)).toString()
  const [word] = /^\w*/.exec(rest) as RegExpExecArray
  if (word !== '') return `"${word}"`
  const [character = ''] = rest
  const code = character.codePointAt(0) as number
  const number = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
  if (code === 0xfeff) return `a byte order mark (${number})`
  if (code < space || code === 0x7f) return `the control character ${number}`
  return code < 0x7f ? `"${character}"` : `"${character}" (${number})`
}
