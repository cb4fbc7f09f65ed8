/**
 * Finds the ends of the parts of a JSON text. Every function takes the start of a part and returns the position after
 * it, or a negative number that identifies the error (`Wrong`).
 *
 * The functions read `bytes[at] as number`: a byte past the end is undefined, and comparing undefined with a number gives false.
 */
import {
  aClosingQuote,
  aColon,
  aDigit,
  afterElement,
  afterMember,
  aHexadecimalDigit,
  aName,
  aNameOrEnd,
  anEscape,
  anEscapeLetter,
  aValue,
  aValueOrEnd,
  fewerLevels,
  theRestOf,
  type Wrong,
  wrongAt,
} from './problem.js'

type Position = number | Wrong

/** Counts the tabs and line ends passed so far, in all JSON texts: a value that contains none is not copied. */
export const passed = { breaks: 0 }

/** Passes over white space, which is usually absent. Never returns an error. */
export function spaceEnd(bytes: Buffer, start: number): number {
  return (bytes[start] as number) > space ? start : spacesEnd(bytes, start)
}

/** The loop of `spaceEnd`, separate so that V8 inlines only the comparison. */
function spacesEnd(bytes: Buffer, start: number): number {
  for (let at = start; ; at++) {
    const byte = bytes[at]
    if (byte === lineFeed || byte === carriageReturn || byte === tab) passed.breaks++
    else if (byte !== space) return at
  }
}

/** Not recursive, so that deep nesting cannot overflow the stack. */
export function valueEnd(bytes: Buffer, start: number, levels: Levels): Position {
  const { outer } = levels
  let { deepest } = levels
  let level = outer
  let at = start
  value: for (;;) {
    const byte = bytes[at] as number
    if (byte === quote) at = stringEnd(bytes, at)
    else if (byte !== openBrace && byte !== openBracket) at = scalarEnd(bytes, at)
    else {
      if (++level > deepest) {
        deepest = level
        levels.deepest = level
        if (level > levels.max) return wrongAt(at, fewerLevels)
      }
      at = spaceEnd(bytes, at + 1)
      const closing = byte + toClosing
      if (bytes[at] !== closing) {
        closings[level] = closing
        if (byte === openBrace) at = memberValue(bytes, at, aNameOrEnd)
        else if (beginsValue[bytes[at] as number] !== 1) at = wrongAt(at, aValueOrEnd)
        if (at < 0) return at
        continue
      }
      level--
      at++
    }
    if (at < 0) return at
    for (; level > outer; level--) {
      at = spaceEnd(bytes, at)
      const closing = closings[level]
      if (bytes[at] === comma) {
        at = spaceEnd(bytes, at + 1)
        if (closing === closeBrace) at = memberValue(bytes, at, aName)
        if (at < 0) return at
        continue value
      }
      if (bytes[at] !== closing) return wrongAt(at, closing === closeBrace ? afterMember : afterElement)
      at++
    }
    return at
  }
}

export interface Levels {
  /** The number of levels around the value. */
  outer: number
  /** The deepest level reached; the outermost array or object of a text is level 1. */
  deepest: number
  readonly max: number
}

/** Passes over a name and its colon, up to the member's value. */
function memberValue(bytes: Buffer, start: number, expected: number): Position {
  const end = nameEnd(bytes, start, expected)
  return end < 0 ? end : afterColon(bytes, end)
}

/** @param expected the expectation to report if there is no name */
export function nameEnd(bytes: Buffer, start: number, expected: number): Position {
  return bytes[start] === quote ? stringEnd(bytes, start) : wrongAt(start, expected)
}

export function afterColon(bytes: Buffer, start: number): Position {
  const at = spaceEnd(bytes, start)
  return bytes[at] === colon ? spaceEnd(bytes, at + 1) : wrongAt(at, aColon)
}

export function stringEnd(bytes: Buffer, start: number): Position {
  const { length } = bytes
  let at = start + 1
  while (at < length) {
    const byte = bytes[at] as number
    if (isPlain[byte] === 1) at = at - start < longString ? at + 1 : plainEnd(bytes, at)
    else if (byte === quote) return at + 1
    else if (byte !== backslash) return wrongAt(at, anEscape)
    else {
      at = escapeEnd(bytes, at + 1)
      if (at < 0) return at
    }
  }
  return wrongAt(start, aClosingQuote)
}

/** After this many bytes of a string, four bytes are examined at a time. */
const longString = 16

function plainEnd(bytes: Buffer, start: number): number {
  const { length } = bytes
  let at = start
  while (at + 4 <= length && areFourPlain(bytes, at)) at += 4
  while (at < length && isPlain[bytes[at] as number] === 1) at++
  return at
}

function areFourPlain(bytes: Buffer, at: number): boolean {
  const two = (isPlain[bytes[at] as number] as number) & (isPlain[bytes[at + 1] as number] as number)
  return (two & (isPlain[bytes[at + 2] as number] as number) & (isPlain[bytes[at + 3] as number] as number)) === 1
}

function escapeEnd(bytes: Buffer, start: number): Position {
  if (isEscaped[bytes[start] as number] === 1) return start + 1
  if (bytes[start] !== letterU) return wrongAt(start, anEscapeLetter)
  for (let at = start + 1; at <= start + hexadecimalDigits; at++) {
    if (isHexadecimal[bytes[at] as number] !== 1) return wrongAt(at, aHexadecimalDigit)
  }
  return start + 1 + hexadecimalDigits
}

function scalarEnd(bytes: Buffer, start: number): Position {
  switch (bytes[start]) {
    case letterT:
      return wordEnd(bytes, start, 'true')
    case letterF:
      return wordEnd(bytes, start, 'false')
    case letterN:
      return wordEnd(bytes, start, 'null')
    default:
      return numberEnd(bytes, start)
  }
}

function wordEnd(bytes: Buffer, start: number, word: keyof typeof theRestOf): Position {
  for (let i = 1; i < word.length; i++) {
    if (bytes[start + i] !== word.charCodeAt(i)) return wrongAt(start + i, theRestOf[word])
  }
  return start + word.length
}

function numberEnd(bytes: Buffer, start: number): Position {
  let at = bytes[start] === minus ? start + 1 : start
  at = bytes[at] === zero ? at + 1 : digitsEnd(bytes, at, at === start ? aValue : aDigit)
  if (bytes[at] === point) at = digitsEnd(bytes, at + 1, aDigit)
  if (bytes[at] !== letterE && bytes[at] !== capitalE) return at
  const sign = bytes[at + 1]
  return digitsEnd(bytes, sign === plus || sign === minus ? at + 2 : at + 1, aDigit)
}

/** Passes over one or more digits. */
function digitsEnd(bytes: Buffer, start: number, expected: number): Position {
  let at = start
  while ((bytes[at] as number) >= zero && (bytes[at] as number) <= nine) at++
  return at > start ? at : wrongAt(start, expected)
}

/** The closing bracket of each level of the value being scanned. Shared, because only one value is scanned at a time. */
const closings: number[] = []

/** The difference between the codes of a closing and an opening bracket. */
const toClosing = 2

// Not imported from bytes.ts: V8 would look up an imported constant for every byte, which would account for a tenth of the time.
const space = 0x20
const quote = 0x22
const comma = 0x2c
const openBracket = 0x5b
const backslash = 0x5c
const openBrace = 0x7b
const closeBrace = 0x7d

const tab = 0x09
const lineFeed = 0x0a
const carriageReturn = 0x0d
const plus = 0x2b
const minus = 0x2d
const point = 0x2e
const zero = 0x30
const nine = 0x39
const colon = 0x3a
const capitalE = 0x45
const letterE = 0x65
const letterF = 0x66
const letterN = 0x6e
const letterT = 0x74
const letterU = 0x75
const hexadecimalDigits = 4

function tableOf(characters: string): Uint8Array {
  const table = new Uint8Array(256)
  for (const byte of Buffer.from(characters)) table[byte] = 1
  return table
}

export const beginsValue = tableOf('{["-0123456789tfn')
const isEscaped = tableOf('"\\/bfnrt')
const isHexadecimal = tableOf('0123456789abcdefABCDEF')
/** 1 for the bytes that stand for themselves in a string. */
const isPlain = new Uint8Array(256).fill(1, space)
for (const byte of [quote, backslash]) isPlain[byte] = 0
