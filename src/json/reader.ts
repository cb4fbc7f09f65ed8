/**
 * A strict reader of JSON, in one pass over its bytes. The caller asks for what comes next: the name of a member, an
 * element, a value, or only a value's text. So nothing is read twice, and only what someone needs is decoded.
 *
 * The first wrong byte ends the reading, and so does a level too many: from then on there is no next name, no next
 * element, and every value is undefined. A caller need not check each step: it asks for the `problem` at the end.
 */
import { closeBrace, closeBracket, comma, openBrace, openBracket, quote } from './bytes.js'
import {
  afterElement,
  afterMember,
  aName,
  aNameOrEnd,
  aValueOrEnd,
  describeWrong,
  fewerLevels,
  isTooDeep,
  theEnd,
  type Wrong,
  wrongAt,
} from './problem.js'
import { afterColon, beginsValue, type Levels, nameEnd, passed, spaceEnd, stringEnd, valueEnd } from './scan.js'
import { stringAt } from './strings.js'
import { withoutBreaks } from './tokens.js'

export class JsonReader implements Levels {
  /** The arrays and objects that were entered and not left yet. */
  outer = 0
  /** The deepest level that was reached. A caller may set it back. */
  deepest = 0
  readonly max: number
  /** The number that `value` returned last, as it is written. */
  numberText = ''

  readonly #bytes: Buffer
  /** The position of the value that comes next, or after what was read. */
  #at: number
  #wrong: Wrong | undefined = undefined

  /** @param bytes valid UTF-8 */
  constructor(bytes: Buffer, levelsMax: number) {
    this.max = levelsMax
    this.#bytes = bytes
    this.#at = spaceEnd(bytes, 0)
  }

  /** The first byte of the value that comes next, which shows its kind; undefined at the end. */
  get first(): number | undefined {
    return this.#bytes[this.#at]
  }

  /** @returns the name of the first member, empty unless decoded; undefined if the object is empty, and then left */
  enterObject(isDecoded = true): string | undefined {
    const at = this.#enter()
    return this.#bytes[at] === closeBrace ? this.#leave(at) : this.#name(at, aNameOrEnd, isDecoded)
  }

  /** @returns the name of the member after the value that was read; undefined if the object ends, and then left */
  nextName(isDecoded = true): string | undefined {
    const at = this.#afterComma(closeBrace, afterMember)
    return at === undefined ? undefined : this.#name(at, aName, isDecoded)
  }

  /** Enters the array that comes next. @returns whether it has an element; if not, it is left */
  enterArray(): boolean {
    const at = this.#enter()
    const byte = this.#bytes[at] as number
    if (byte === closeBracket) this.#leave(at)
    else this.#goTo(beginsValue[byte] === 1 ? at : wrongAt(at, aValueOrEnd))
    return byte !== closeBracket && this.#wrong === undefined
  }

  /** @returns whether there is an element after the one that was read; if not, the array is left */
  nextElement(): boolean {
    const at = this.#afterComma(closeBracket, afterElement)
    if (at !== undefined) this.#at = at
    return at !== undefined
  }

  /** Reads a value. An array or object is returned empty, but its contents are checked. */
  value(): unknown {
    const { first } = this
    const start = this.#at
    if (first === quote) {
      const end = stringEnd(this.#bytes, start)
      this.#goTo(end)
      return end < 0 ? undefined : stringAt(this.#bytes, start, end)
    }
    this.skip()
    if (this.#wrong !== undefined) return undefined
    if (first === openBrace) return {}
    if (first === openBracket) return []
    if (first === letterT || first === letterF) return first === letterT
    if (first === letterN) return null
    this.numberText = this.#bytes.toString('latin1', start, this.#at)
    return Number(this.numberText)
  }

  /** The text of a value: a view, or a copy without tabs and line ends if there are any between its tokens. */
  text(): Uint8Array {
    const start = this.#at
    const { breaks } = passed
    this.skip()
    const text = this.#bytes.subarray(start, this.#at)
    return passed.breaks === breaks ? text : withoutBreaks(text)
  }

  get position(): number {
    return this.#at
  }

  /** Undefined if something is wrong. */
  readSince(position: number): Buffer | undefined {
    return this.#wrong === undefined ? this.#bytes.subarray(position, this.#at) : undefined
  }

  skip(): void {
    this.#goTo(valueEnd(this.#bytes, this.#at, this))
  }

  /** Completes "is not valid JSON:". Ask once all was read. Undefined if nothing is wrong, or only the depth. */
  problem(): string | undefined {
    const at = spaceEnd(this.#bytes, this.#at)
    if (at < this.#bytes.length) this.#goTo(wrongAt(at, theEnd))
    return this.#wrong === undefined || isTooDeep(this.#wrong) ? undefined : describeWrong(this.#bytes, this.#wrong)
  }

  /** Goes on at a position; or to the end, where nothing can be read, if something is wrong. */
  #goTo(at: number | Wrong): void {
    this.#at = at < 0 ? this.#bytes.length : at
    if (at < 0) this.#wrong ??= at
  }

  /** @returns where the contents of the array or object begin */
  #enter(): number {
    if (++this.outer > this.deepest) this.deepest = this.outer
    if (this.outer > this.max) this.#goTo(wrongAt(this.#at, fewerLevels))
    return spaceEnd(this.#bytes, this.#at + 1)
  }

  /** @param at its closing bracket */
  #leave(at: number): undefined {
    this.outer--
    this.#at = at + 1
  }

  /** @returns where the next member or element begins; undefined if there is none */
  #afterComma(closing: number, expected: number): number | undefined {
    const at = spaceEnd(this.#bytes, this.#at)
    const byte = this.#bytes[at]
    if (byte === comma) return spaceEnd(this.#bytes, at + 1)
    if (byte === closing) this.#leave(at)
    else this.#goTo(wrongAt(at, expected))
    return undefined
  }

  /** Reads the name at `start`, and continues at its value. */
  #name(start: number, expected: number, isDecoded: boolean): string | undefined {
    const end = nameEnd(this.#bytes, start, expected)
    this.#goTo(end < 0 ? end : afterColon(this.#bytes, end))
    if (this.#wrong !== undefined) return undefined
    return isDecoded ? stringAt(this.#bytes, start, end) : ''
  }
}

/** Sets a member of an object that a text describes, whatever its name. */
export function setMember(object: object, name: string, value: unknown): void {
  if (name !== '__proto__') (object as Record<string, unknown>)[name] = value
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
}

const letterF = 0x66
const letterN = 0x6e
const letterT = 0x74
