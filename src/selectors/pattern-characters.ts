/**
 * The syntax of character classes, and of escapes within and outside them. The rest of the syntax is in
 * pattern-syntax.ts.
 */
import {
  type CodePointRange,
  codePointMax,
  complement,
  perlClasses,
  type Ranges,
  sortedRanges,
} from './character-classes.js'
import { type Cursor, notLinear, syntaxError } from './pattern-cursor.js'

const controls: ReadonlyMap<string, string> = new Map([
  ['a', '\x07'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
])

/** A class whose name only the engine can check, such as `\pL` or `[[:alpha:]]`. */
export interface NamedClass {
  readonly text: string
  readonly at: number
}

/**
 * Reads classes and escapes at a cursor, and moves it past them. Throws a `PatternError` where there is a syntax error.
 */
export class CharacterReader {
  readonly #cursor: Cursor
  readonly #named: NamedClass[] = []

  constructor(cursor: Cursor) {
    this.#cursor = cursor
  }

  /** The named classes read so far. */
  get named(): readonly NamedClass[] {
    return this.#named
  }

  /** A class in brackets; undefined when only the engine knows its ranges. */
  bracketed(foldCase: boolean): Ranges | undefined {
    const cursor = this.#cursor
    const from = cursor.index++
    const isNegated = cursor.takeUnit('^')
    const ranges: CodePointRange[] = []
    let isKnown = !foldCase
    // A "]" at the beginning is a member.
    for (let first = true; first || cursor.unit() !== ']'; first = false) {
      if (cursor.startsWith('&&[')) throw notLinear('class intersection "&&["', cursor.index)
      const at = cursor.index
      const posix = cursor.takeMatch(/\[(?=:).*?:\]/sy)
      if (posix !== undefined) this.#named.push({ text: `[${posix[0]}]`, at })
      const members = posix === undefined ? this.classEscape(foldCase) : 'named'
      if (members === 'named') isKnown = false
      else if (members !== undefined) ranges.push(...members)
      else ranges.push(this.#range(from))
    }
    cursor.index++
    if (!isKnown) return undefined
    const sorted = sortedRanges(ranges)
    return isNegated ? complement(sorted) : sorted
  }

  /** `\d` and the like as ranges; 'named' for a Unicode class; undefined if neither is next. */
  classEscape(foldCase: boolean): Ranges | 'named' | undefined {
    const cursor = this.#cursor
    const at = cursor.index
    const unicode = cursor.takeMatch(/\\[pP](?:\{[^}]*\}|[^{])/suy)
    if (unicode !== undefined) {
      this.#named.push({ text: unicode[0], at })
      return 'named'
    }
    const ranges = cursor.unit() === '\\' ? perlClasses.get(cursor.unit(1) ?? '') : undefined
    if (ranges === undefined) return undefined
    cursor.index += 2
    return foldCase ? 'named' : ranges
  }

  /** The character that an escape means. */
  escaped(): string {
    const cursor = this.#cursor
    const from = cursor.index
    const next = cursor.unit(1)
    if (next === undefined) throw syntaxError('backslash with nothing after it', from)
    const code = this.#numericEscape()
    if (code !== undefined && code <= codePointMax) return String.fromCodePoint(code)
    if (/[A-Za-z0-9]|[^\x00-\x7f]/.test(next) && !controls.has(next)) {
      cursor.index = from + 1
      throw syntaxError(`unknown escape "\\${cursor.takeCharacter()}"`, from)
    }
    cursor.index += 2
    return controls.get(next) ?? next
  }

  #numericEscape(): number | undefined {
    const [, two, braced] = this.#cursor.takeMatch(/\\x(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]+)\})/y) ?? []
    const hex = two ?? braced
    if (hex !== undefined) return parseInt(hex, 16)
    const [, octal] = this.#cursor.takeMatch(/\\(0[0-7]{0,2}|[1-7][0-7]{1,2})/y) ?? []
    return octal === undefined ? undefined : parseInt(octal, 8)
  }

  /** One character or a range of them, within the class that began at `from`. */
  #range(from: number): CodePointRange {
    const low = this.#member(from)
    if (this.#cursor.unit() !== '-' || this.#cursor.unit(1) === ']') return [low, low]
    this.#cursor.index++
    const high = this.#member(from)
    if (high < low) throw syntaxError('class range in reverse order', from)
    return [low, high]
  }

  #member(from: number): number {
    if (this.#cursor.isAtEnd()) throw syntaxError('class without its closing "]"', from)
    const character = this.#cursor.unit() === '\\' ? this.escaped() : this.#cursor.takeCharacter()
    return character.codePointAt(0) as number
  }
}
