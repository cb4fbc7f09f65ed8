/**
 * Where a text stops being JSON, and what is wrong there. JSON.parse alone decides whether a body is JSON; its message
 * differs between versions of Node, so this is asked for one after it has refused. A test holds the two to the same
 * judgement.
 *
 * The text is read once, from left to right and without recursion, at a few times the cost of JSON.parse: a client that may send
 * a body may send many that are wrong. The byte that is named is the first one with which no JSON text can begin as this one
 * does.
 */
import { backslash, closeBrace, closeBracket, colon, comma, openBrace, openBracket, quote, space } from './json-bytes.js'

/** The first wrong byte, as an index, and what could have been there instead. */
interface Wrong {
  readonly at: number
  readonly expected: string
}

/**
 * What is wrong with a text, in words that go on from "is not valid JSON:"; bytes are counted from 1.
 *
 * @param text UTF-8
 * @param levelsMax what is nested deeper is not looked at, nor what comes after it
 * @returns undefined when nothing wrong was found
 */
export function jsonProblem(text: Uint8Array, levelsMax: number): string | undefined {
  const wrong = findWrong(text, levelsMax)
  return wrong && `found ${nameOf(text, wrong.at)} at byte ${wrong.at + 1}, expected ${wrong.expected}`
}

/** What is to come between two tokens: numbers, as a text may have a million of them. */
const value = 0
const valueOrEnd = 1
const name = 2
const nameOrEnd = 3
const commaOrEnd = 4

/** In place of the byte that closes what is open, where nothing is. */
const nothing = -1

function findWrong(text: Uint8Array, levelsMax: number): Wrong | undefined {
  /** The byte that closes the innermost bracket; `outer` has those of the brackets around it, the outermost first. */
  let closes: number = nothing
  const outer: number[] = []
  let next: number = value
  for (let at = skipSpace(text, 0); ; at = skipSpace(text, at)) {
    const byte = text[at]
    if (byte === closes && (next === commaOrEnd || next === valueOrEnd || next === nameOrEnd)) {
      closes = outer.pop() as number
      next = commaOrEnd
      at++
    } else if (next === commaOrEnd) {
      if (closes === nothing) return at < text.length ? { at, expected: 'the end' } : undefined
      if (byte !== comma) return { at, expected: closes === closeBrace ? '"," or "}"' : '"," or "]"' }
      next = closes === closeBrace ? name : value
      at++
    } else if (next === name || next === nameOrEnd) {
      const end = readName(text, at, next === name ? '' : ' or "}"')
      if (typeof end !== 'number') return end
      next = value
      at = end
    } else if (byte === openBrace || byte === openBracket) {
      if (outer.push(closes) > levelsMax) return undefined
      closes = byte === openBrace ? closeBrace : closeBracket
      next = byte === openBrace ? nameOrEnd : valueOrEnd
      at++
    } else {
      const end = readScalar(text, at, next === value ? '' : ' or "]"')
      if (typeof end !== 'number') return end
      next = commaOrEnd
      at = end
    }
  }
}

/** JSON's own white space, and no other. */
function skipSpace(text: Uint8Array, from: number): number {
  for (let at = from; ; at++) {
    const byte = text[at]
    if (byte !== space && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at
  }
}

// Each reader below answers with the position after what it has read, or with what is wrong.

/** A name and its colon. */
function readName(text: Uint8Array, at: number, otherwise: string): number | Wrong {
  if (text[at] !== quote) return { at, expected: `a member name in double quotes${otherwise}` }
  const end = readString(text, at)
  if (typeof end !== 'number') return end
  const next = skipSpace(text, end)
  return text[next] === colon ? next + 1 : { at: next, expected: '":"' }
}

function readScalar(text: Uint8Array, at: number, otherwise: string): number | Wrong {
  switch (text[at]) {
    case quote:
      return readString(text, at)
    case letterT:
      return readWord(text, at, 'true')
    case letterF:
      return readWord(text, at, 'false')
    case letterN:
      return readWord(text, at, 'null')
    case minus:
      return readNumber(text, at)
    default:
      return isDigit(text[at]) ? readNumber(text, at) : { at, expected: `a value${otherwise}` }
  }
}

function readWord(text: Uint8Array, at: number, word: string): number | Wrong {
  for (let i = 1; i < word.length; i++) {
    if (text[at + i] !== word.charCodeAt(i)) return { at: at + i, expected: `the rest of "${word}"` }
  }
  return at + word.length
}

function readString(text: Uint8Array, start: number): number | Wrong {
  const { length } = text
  for (let at = start + 1; at < length; at++) {
    const byte = text[at]
    if (byte === quote) return at + 1
    if (byte < space) return { at, expected: 'an escape such as \\n or \\u0000 in its place' }
    if (byte !== backslash) continue
    at++
    if (isEscapable[text[at]] !== 1) return { at, expected: 'one of " \\ / b f n r t u after the backslash' }
    if (text[at] !== letterU) continue
    for (let digits = 0; digits < 4; digits++) {
      at++
      if (!isHexadecimal(text[at])) return { at, expected: 'a hexadecimal digit' }
    }
  }
  return { at: length, expected: `the closing quote of the string that begins at byte ${start + 1}` }
}

/** 1 at each byte that may follow a backslash. */
const isEscapable = new Uint8Array(256)
for (const byte of Buffer.from('"\\/bfnrtu')) isEscapable[byte] = 1

function readNumber(text: Uint8Array, start: number): number | Wrong {
  let first = start
  if (text[first] === minus) first++
  let at = first
  // A zero that leads is the whole of its part: in 01 the 1 is one too many.
  if (text[at] === zero) at++
  else while (isDigit(text[at])) at++
  if (at === first) return { at, expected: 'a digit' }
  const byte = text[at]
  return byte === point || (byte | lowerCase) === letterE ? readFraction(text, at) : at
}

/** What follows the whole part of a number, from its point or its exponent. */
function readFraction(text: Uint8Array, start: number): number | Wrong {
  let at: number | Wrong = text[start] === point ? readDigits(text, start + 1) : start
  if (typeof at === 'number' && (text[at] | lowerCase) === letterE) {
    const isSigned = text[at + 1] === minus || text[at + 1] === plus
    at = readDigits(text, isSigned ? at + 2 : at + 1)
  }
  return at
}

const minus = 0x2d
const plus = 0x2b
const point = 0x2e
const zero = 0x30
const nine = 0x39
const letterE = 0x65
const letterF = 0x66
const letterN = 0x6e
const letterT = 0x74
const letterU = 0x75
/** The bit that makes an ASCII letter a small one. */
const lowerCase = 0x20

function readDigits(text: Uint8Array, start: number): number | Wrong {
  let at = start
  while (isDigit(text[at])) at++
  return at === start ? { at, expected: 'a digit' } : at
}

function isDigit(byte: number): boolean {
  return byte >= zero && byte <= nine
}

function isHexadecimal(byte: number): boolean {
  const letter = byte | lowerCase
  return isDigit(byte) || (letter >= 0x61 && letter <= 0x66)
}

/** Bytes that are looked at for what is at a place: a word as long as any that a program would print there by mistake. */
const foundBytesMax = 20

/** What is at a place, as a message can show it: a word, a character, or that there is nothing. */
function nameOf(text: Uint8Array, at: number): string {
  if (at >= text.length) return 'the end'
  const rest = Buffer.from(text.subarray(at, at + foundBytesMax)).toString()
  const [word] = /^\w*/.exec(rest) as RegExpExecArray
  if (word !== '') return `"${word}"`
  const [character] = rest
  const code = character.codePointAt(0) as number
  const number = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
  if (code === 0xfeff) return `a byte order mark (${number})`
  if (code < space || code === 0x7f) return `the control character ${number}`
  return code < 0x7f ? `"${character}"` : `"${character}" (${number})`
}
