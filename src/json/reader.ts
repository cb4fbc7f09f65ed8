/**
 * A strict JSON reader that makes one pass over the bytes. The caller requests the next item: the name of a member, an
 * element, a value, or only a value's text. Nothing is read twice, and only requested items are decoded.
 *
 * Reading stops at the first wrong byte, or if the nesting is too deep. After that there is no next name and no next
 * element, and every value is undefined. A caller need not check each step: it checks `problem` at the end.
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
  /** The number of arrays and objects entered and not yet left. */
  outer = 0
  /** The deepest level reached. A caller may reset it. */
  deepest = 0
  readonly max: number
  /** The source text of the last number that `value` returned. */
  numberText = ''

  readonly #bytes: Buffer
  /** The start of the next value, or the end of the last. */
  #at: number
  #wrong: Wrong | undefined = undefined

  /** @param bytes valid UTF-8 */
  constructor(bytes: Buffer, levelsMax: number) {
    this.max = levelsMax
    this.#bytes = bytes
    this.#at = spaceEnd(bytes, 0)
  }

  /** The first byte of the next value, which tells its kind; undefined at the end. */
  get first(): number | undefined {
    return this.#bytes[this.#at]
  }

  /** @returns the name of the first member, '' unless decoded; undefined for an empty object, which is left immediately */
  enterObject(isDecoded = true): string | undefined {
    const at = this.#enter()
    return this.#bytes[at] === closeBrace ? this.#leave(at) : this.#name(at, aNameOrEnd, isDecoded)
  }

  /** @returns the name of the member after the last value; undefined at the end of the object, which is then left */
  nextName(isDecoded = true): string | undefined {
    const at = this.#afterComma(closeBrace, afterMember)
    return at === undefined ? undefined : this.#name(at, aName, isDecoded)
  }

  /** Enters the next array. @returns whether it has an element; an empty array is left immediately */
  enterArray(): boolean {
    const at = this.#enter()
    const byte = this.#bytes[at] as number
    if (byte === closeBracket) this.#leave(at)
    else this.#goTo(beginsValue[byte] === 1 ? at : wrongAt(at, aValueOrEnd))
    return byte !== closeBracket && this.#wrong === undefined
  }

  /** @returns whether another element follows; if not, the array is left */
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

  /** The text of a value: a view; or, if there are tabs or line ends between its tokens, a copy without them. */
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

  /** Undefined after an error. */
  readSince(position: number): Buffer | undefined {
    return this.#wrong === undefined ? this.#bytes.subarray(position, this.#at) : undefined
  }

  skip(): void {
    this.#goTo(valueEnd(this.#bytes, this.#at, this))
  }

  /** Completes "is not valid JSON:". Call after reading everything. Undefined if the text is valid or only nested too deeply. */
  problem(): string | undefined {
    const at = spaceEnd(this.#bytes, this.#at)
    if (at < this.#bytes.length) this.#goTo(wrongAt(at, theEnd))
    return this.#wrong === undefined || isTooDeep(this.#wrong) ? undefined : describeWrong(this.#bytes, this.#wrong)
  }

  /** Continues at a position; after an error, at the end, where nothing can be read. */
  #goTo(at: number | Wrong): void {
    this.#at = at < 0 ? this.#bytes.length : at
    if (at < 0) this.#wrong ??= at
  }

  /** @returns the start of the array's or object's contents */
  #enter(): number {
    if (++this.outer > this.deepest) this.deepest = this.outer
    if (this.outer > this.max) this.#goTo(wrongAt(this.#at, fewerLevels))
    return spaceEnd(this.#bytes, this.#at + 1)
  }

  /** @param at the closing bracket */
  #leave(at: number): undefined {
    this.outer--
    this.#at = at + 1
  }

  /** @returns the start of the next member or element; undefined after the last */
  #afterComma(closing: number, expected: number): number | undefined {
    const at = spaceEnd(this.#bytes, this.#at)
    const byte = this.#bytes[at]
    if (byte === comma) return spaceEnd(this.#bytes, at + 1)
    if (byte === closing) this.#leave(at)
    else this.#goTo(wrongAt(at, expected))
    return undefined
  }

  /** Reads the name at `start` and continues at the member's value. */
  #name(start: number, expected: number, isDecoded: boolean): string | undefined {
    const end = nameEnd(this.#bytes, start, expected)
    this.#goTo(end < 0 ? end : afterColon(this.#bytes, end))
    if (this.#wrong !== undefined) return undefined
    return isDecoded ? stringAt(this.#bytes, start, end) : ''
  }
}

/** Sets a member with any name, `__proto__` included. */
export function setMember(object: object, name: string, value: unknown): void {
  if (name !== '__proto__') (object as Record<string, unknown>)[name] = value
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
}

const letterF = 0x66
const letterN = 0x6e
const letterT = 0x74
