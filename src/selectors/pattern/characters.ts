/** The syntax of character classes and of escapes, inside and outside classes. The rest of the syntax is in syntax.ts. */

import {
  classMemberCost,
  foldedClassCost,
  foldedCodePointsCost,
  foldedRangeCost,
  namedRangeCost,
  type PlanningBudget,
} from '../planning-budget.js'
import {
  type CodePointRange,
  codePointMax,
  complement,
  perlClasses,
  type Ranges,
  sortedRanges,
} from './character-classes.js'
import { type Cursor, notLinear, syntaxError } from './cursor.js'
import { countRanges } from './engine.js'
import { classNode, type Node } from './node.js'

const controls: ReadonlyMap<string, string> = new Map([
  ['a', '\x07'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
])

/** The first and last code points that have another case in the engine's tables. */
const foldableFirst = 0x41
const foldableLast = 0x1e943

/** More ranges than any union of Unicode classes has. */
const namedRangesMax = 4000

/** A class: its ranges, undefined if only the engine knows them, and their maximum number. */
interface ReadClass {
  readonly ranges: Ranges | undefined
  readonly rangesMax: number
}

/** Reads classes and escapes at a cursor, and charges each class. @throws PatternError for a syntax error */
export class CharacterReader {
  #mayHavePosix = true

  constructor(
    private readonly cursor: Cursor,
    private readonly budget: PlanningBudget,
  ) {}

  bracketed(foldCase: boolean): Node {
    const cursor = this.cursor
    const from = cursor.index++
    const isNegated = cursor.takeUnit('^')
    const ranges: CodePointRange[] = []
    let isKnown = !foldCase
    let namedRanges = 0
    let folded = 0
    let foldedUnits = 0
    // A "]" at the start is a member.
    for (let first = true; first || cursor.unit() !== ']'; first = false) {
      if (cursor.startsWith('&&[')) throw notLinear('class intersection "&&["', cursor.index)
      const members = this.#posixClass(foldCase) ?? this.#namedClass(foldCase)
      if (members === undefined) {
        const range = this.#range(from)
        if (foldCase) {
          folded += foldedIn(range)
          foldedUnits += foldedCodePointsCost(foldedIn(range))
        }
        ranges.push(range)
      } else if (members.ranges === undefined) {
        isKnown = false
        namedRanges += members.rangesMax
      } else ranges.push(...members.ranges)
    }
    cursor.index++
    const units = ranges.length * classMemberCost + foldedUnits
    this.budget.charge(units, classWords(cursor.text.slice(from, cursor.index)))
    if (!isKnown) return classNode(undefined, 4 * ranges.length + Math.min(namedRanges + folded, namedRangesMax))
    const sorted = sortedRanges(ranges)
    return classNode(isNegated ? complement(sorted) : sorted)
  }

  /** A class such as `\d` or `\pL`; undefined if none is next. */
  classEscape(foldCase: boolean): Node | undefined {
    const found = this.#namedClass(foldCase)
    return found && classNode(found.ranges, found.rangesMax)
  }

  /** A class such as `[:alpha:]`, within brackets; undefined if none is next. */
  #posixClass(foldCase: boolean): ReadClass | undefined {
    if (!this.#mayHavePosix || !this.cursor.startsWith('[:')) return undefined
    const at = this.cursor.index
    const posix = this.cursor.takeMatch(/\[(?=:).*?:\]/sy)
    // Searching for the same end repeatedly would take time quadratic in the length.
    if (posix === undefined) this.#mayHavePosix = false
    return posix && this.#engineClass(`[${posix[0]}]`, at, foldCase)
  }

  #namedClass(foldCase: boolean): ReadClass | undefined {
    const cursor = this.cursor
    if (cursor.unit() !== '\\') return undefined
    const at = cursor.index
    const unicode = cursor.takeMatch(/\\[pP](?:\{[^}]*\}|[^{])/suy)
    if (unicode !== undefined) return this.#engineClass(unicode[0], at, foldCase)
    const ranges = perlClasses.get(cursor.unit(1) ?? '')
    if (ranges === undefined) return undefined
    cursor.index += 2
    if (!foldCase) return { ranges, rangesMax: ranges.length }
    this.budget.charge(foldedClassCost, classWords(cursor.text.slice(at, cursor.index)))
    return { ranges: undefined, rangesMax: 2 * ranges.length + 2 }
  }

  /** A class that only the engine knows, such as `\pL` or `[[:alpha:]]`. */
  #engineClass(name: string, at: number, foldCase: boolean): ReadClass {
    const rangesMax = countRanges(name, foldCase)
    if (rangesMax === undefined) throw syntaxError(`unknown class ${name}`, at)
    const units = foldCase ? foldedClassCost + rangesMax * foldedRangeCost : 20 + rangesMax * namedRangeCost
    this.budget.charge(units, classWords(name))
    return { ranges: undefined, rangesMax }
  }

  escaped(): string {
    const cursor = this.cursor
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
    const [, two, braced] = this.cursor.takeMatch(/\\x(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]+)\})/y) ?? []
    const hex = two ?? braced
    if (hex !== undefined) return parseInt(hex, 16)
    const [, octal] = this.cursor.takeMatch(/\\(0[0-7]{0,2}|[1-7][0-7]{1,2})/y) ?? []
    return octal === undefined ? undefined : parseInt(octal, 8)
  }

  /** One character or a range, in the class that starts at `from`. */
  #range(from: number): CodePointRange {
    const low = this.#member(from)
    if (this.cursor.unit() !== '-' || this.cursor.unit(1) === ']') return [low, low]
    this.cursor.index++
    const high = this.#member(from)
    if (high < low) throw syntaxError('class range in reverse order', from)
    return [low, high]
  }

  #member(from: number): number {
    if (this.cursor.isAtEnd()) throw syntaxError('class without a closing "]"', from)
    const character = this.cursor.unit() === '\\' ? this.escaped() : this.cursor.takeCharacter()
    return character.codePointAt(0) as number
  }
}

/** The number of code points in a range that the engine looks at to fold case. */
function foldedIn([first, last]: CodePointRange): number {
  if (first <= foldableFirst && last >= foldableLast) return 0
  return Math.max(0, Math.min(last, foldableLast) - Math.max(first, foldableFirst) + 1)
}

/** Enough of a class to recognise it. */
const classUnitsMax = 30

function classWords(text: string): string {
  const isLong = text.length > classUnitsMax
  return `the class "${isLong ? `${text.slice(0, classUnitsMax).toWellFormed()}…` : text}"`
}
