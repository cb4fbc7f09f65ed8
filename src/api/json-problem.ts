/**
 * Where a text stops being JSON, and what is wrong there. JSON.parse's messages differ between versions of Node, so this
 * file finds the error again and words it; and it alone decides for the contents that JSON.parse is not shown. A test
 * checks that the two agree.
 *
 * The grammar is a table of states with one look-up per byte, so that any text costs about as much as JSON.parse does:
 * a client may send many wrong bodies. The byte that is named is the first with which the text can no longer be the
 * beginning of any JSON text.
 */
import { space } from './json-bytes.js'

/** The first wrong byte, as an index, and what could have been there instead. */
interface Wrong {
  readonly at: number
  readonly expected: string
}

/**
 * What is wrong with a text, as a phrase that follows "is not valid JSON:"; bytes are counted from 1.
 *
 * @param text UTF-8
 * @param levelsMax anything nested deeper is not examined, nor the text after it
 * @returns undefined when nothing wrong was found
 */
export function jsonProblem(text: Uint8Array, levelsMax: number): string | undefined {
  const first = findWrong(text, levelsMax)
  return first && `found ${nameOf(text, first.at)} at byte ${first.at + 1}, expected ${first.expected}`
}

function findWrong(text: Uint8Array, levelsMax: number): Wrong | undefined {
  /**
   * The state after a value, which says which bracket is open; `outer` has those of the brackets around it, the
   * outermost first.
   */
  let after = afterAll
  const outer: number[] = []
  let state = value
  let stringStart = 0
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] as number
    let to = transitions[(state << 8) | byte] as number
    if (to === endOfNumber) {
      state = after
      to = transitions[(state << 8) | byte] as number
    }
    switch (to) {
      case wrong:
        return { at, expected: expectedIn(state) }
      case openObject:
      case openArray:
        if (outer.push(after) > levelsMax) return undefined
        after = to === openObject ? afterMember : afterElement
        state = to === openObject ? nameOrEnd : valueOrEnd
        break
      case close:
        after = outer.pop() as number
        state = after
        break
      case endOfValue:
        state = after
        break
      case startOfValue:
      case startOfName:
        stringStart = at
        state = to === startOfName ? inName : inValue
        // Most strings are short; a long one is not worth a look-up of a state for each byte.
        if (at + longString < text.length && isPlain[text[at + longString] as number] === 1) at = plainEnd(text, at)
        break
      default:
        state = to
    }
  }
  const at = text.length
  if (state === inName || state === inValue) {
    return { at, expected: `the closing quote of the string that begins at byte ${stringStart + 1}` }
  }
  if (transitions[state << 8] === endOfNumber) state = after
  return state === afterAll ? undefined : { at, expected: expectedIn(state) }
}

/** From so many bytes on, a string is skipped by its plain bytes. */
const longString = 32

/** Which bytes have no meaning in a string: no quote, backslash or control character. */
const isPlain = Uint8Array.from({ length: 256 }, (_, byte) => (byte >= space && byte !== 0x22 && byte !== 0x5c ? 1 : 0))

/** The last of the plain bytes after `at`. */
function plainEnd(text: Uint8Array, at: number): number {
  const last = text.length - 1
  while (at < last && isPlain[text[at + 1] as number] === 1) at++
  return at
}

/** What each state expects, in the words of a message, by state. */
const expectedBy: string[] = []

function expectedIn(state: number): string {
  return expectedBy[state] ?? ''
}

function addState(expected: string): number {
  return expectedBy.push(expected) - 1
}

const value = addState('a value')
const valueOrEnd = addState('a value or "]"')
const name = addState('a member name in double quotes')
const nameOrEnd = addState('a member name in double quotes or "}"')
const afterName = addState('":"')
const afterMember = addState('"," or "}"')
const afterElement = addState('"," or "]"')
const afterAll = addState('the end')

// Actions in place of a next state that depends on the open bracket, or has something to remember. Larger than any
// state.
const wrong = 0xf0
const openObject = 0xf1
const openArray = 0xf2
const close = 0xf3
const endOfValue = 0xf4
/** The byte is not part of the number: it is examined again as one that follows a value. */
const endOfNumber = 0xf5
const startOfValue = 0xf6
const startOfName = 0xf7

/** More states than there are. */
const statesMax = 64

/** The next state, by state and byte: `state << 8 | byte`. */
const transitions = new Uint8Array(statesMax << 8).fill(wrong)

function go(from: number, bytes: string, to: number): void {
  for (const byte of Buffer.from(bytes, 'latin1')) transitions[(from << 8) | byte] = to
}

/** The states of a string; @returns the one that its opening quote leads to */
function addString(closed: number): number {
  const inside = addState('an escape such as \\n or \\u0000 in its place')
  const escaped = addState('one of " \\ / b f n r t u after the backslash')
  transitions.fill(inside, (inside << 8) | space, (inside + 1) << 8)
  go(inside, '"', closed)
  go(inside, '\\', escaped)
  go(escaped, '"\\/bfnrt', inside)
  let rest = inside
  for (let digit = 0; digit < 4; digit++) {
    const hexadecimal = addState('a hexadecimal digit')
    go(hexadecimal, '0123456789abcdefABCDEF', rest)
    rest = hexadecimal
  }
  go(escaped, 'u', rest)
  return inside
}

const inName = addString(afterName)
const inValue = addString(endOfValue)

/** A state of a number in which it may end. */
function addNumberEnd(): number {
  const state = addState('')
  transitions.fill(endOfNumber, state << 8, (state + 1) << 8)
  return state
}

const digits = '0123456789'
const minus = addState('a digit')
const zero = addNumberEnd()
const whole = addNumberEnd()
const point = addState('a digit')
const fraction = addNumberEnd()
const exponent = addState('a digit')
const exponentSign = addState('a digit')
const exponentDigits = addNumberEnd()
go(minus, digits, whole)
go(minus, '0', zero)
go(whole, digits, whole)
for (const state of [zero, whole]) go(state, '.', point)
for (const state of [point, fraction]) go(state, digits, fraction)
for (const state of [zero, whole, fraction]) go(state, 'eE', exponent)
go(exponent, '+-', exponentSign)
for (const state of [exponent, exponentSign, exponentDigits]) go(state, digits, exponentDigits)

for (const state of [value, valueOrEnd]) {
  go(state, '{', openObject)
  go(state, '[', openArray)
  go(state, '"', startOfValue)
  go(state, '-', minus)
  go(state, digits, whole)
  // No digit may follow a leading zero: in 01 the 1 is wrong.
  go(state, '0', zero)
  for (const word of ['true', 'false', 'null']) addWord(state, word)
}

function addWord(from: number, word: string): void {
  let state = from
  for (const letter of word.slice(0, -1)) {
    const rest = addState(`the rest of "${word}"`)
    go(state, letter, rest)
    state = rest
  }
  go(state, word.slice(-1), endOfValue)
}

for (const state of [name, nameOrEnd]) go(state, '"', startOfName)
go(afterName, ':', value)
go(afterMember, ',', name)
go(afterElement, ',', value)
for (const state of [nameOrEnd, afterMember]) go(state, '}', close)
for (const state of [valueOrEnd, afterElement]) go(state, ']', close)
// JSON's own white space, and no other.
for (const state of [value, valueOrEnd, name, nameOrEnd, afterName, afterMember, afterElement, afterAll])
  go(state, ' \n\r\t', state)

/** Bytes that are examined to name what was found: enough for any word that a program would print there by mistake. */
const foundBytesMax = 20

/** What was found at an index, as a message can show it: a word, a character, or the end. */
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
