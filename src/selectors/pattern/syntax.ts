/**
 * Parses one regular expression into a tree, or into a problem and its index.
 *
 * The language is RE2's, with `.` matching every character. Engines do not report the facts that the tree provides:
 * literal prefixes (prefixes.ts), whether the built-in engine is harmless, and the cost of the pattern (pattern.ts).
 */
import { groupDepthMax, repeatMax } from '../../settings/limits.js'
import type { PlanningBudget } from '../planning-budget.js'
import type { Syntax } from './anchors.js'
import { CharacterReader } from './characters.js'
import { Cursor, notLinear, PatternError, syntaxError, unsupported } from './cursor.js'
import { capturedNode, classNode, eitherNode, type Node, repeatNode, sequenceNode, unknownClass } from './node.js'

/** `refused`: valid elsewhere, but beyond a limit or not linear in time. `problem` names the wrong text at `at`. */
export interface SyntaxProblem {
  readonly problem: string
  readonly at: number
  readonly refused: boolean
}

/** Charges the budget for the classes. @throws TooCostly if they exceed it */
export function readSyntax(text: string, budget: PlanningBudget): Syntax | SyntaxProblem {
  try {
    return new SyntaxReader(text, budget).read()
  } catch (error) {
    if (error instanceof PatternError) return { problem: error.message, at: error.at, refused: error.refused }
    throw error
  }
}

const unsupportedGroups: readonly (readonly [string, string])[] = [
  ['(?=', 'look-ahead'],
  ['(?!', 'look-ahead'],
  ['(?<=', 'look-behind'],
  ['(?<!', 'look-behind'],
  ['(?>', 'atomic group'],
  ['(?(', 'conditional group'],
]

/** Reads one pattern from left to right. `groupDepthMax` limits the depth of the recursion. */
class SyntaxReader {
  readonly #cursor: Cursor
  readonly #characters: CharacterReader
  /** Each flag applies until the end of the group that sets it. */
  #flags = { foldCase: false, dotAll: true, multiline: false }
  readonly #groupNames = new Set<string>()
  #hasOpenQuote = false

  constructor(text: string, budget: PlanningBudget) {
    this.#cursor = new Cursor(text)
    this.#characters = new CharacterReader(this.#cursor, budget)
  }

  read(): Syntax {
    const node = this.#either(0)
    const { text, index } = this.#cursor
    if (index < text.length) throw syntaxError('unmatched ")"', index)
    return { node, source: this.#hasOpenQuote ? `${text}\\E` : text }
  }

  #either(depth: number): Node {
    const nodes = [this.#sequence(depth)]
    while (this.#cursor.takeUnit('|')) nodes.push(this.#sequence(depth))
    return eitherNode(nodes)
  }

  #sequence(depth: number): Node {
    const cursor = this.#cursor
    const nodes: Node[] = []
    // A repetition applies to the preceding node, unless that is already a repetition.
    let isRepeated = false
    let isRepeatable = false
    while (!cursor.isAtEnd()) {
      const from = cursor.index
      const unit = cursor.unit()
      if (unit === '|' || unit === ')') break
      const bounds = this.#repetition()
      if (bounds !== undefined) {
        if (isRepeated) throw syntaxError('repetition of a repetition', from)
        const last = isRepeatable ? nodes.pop() : undefined
        if (last === undefined) throw syntaxError(`nothing to repeat before "${unit}"`, from)
        nodes.push(repeatNode(last, bounds.min, bounds.max))
        isRepeated = true
        continue
      }
      isRepeated = false
      const count = nodes.length
      if (cursor.startsWith('\\Q')) this.#quoted(nodes)
      else if (unit === '(') this.#group(nodes, depth)
      else nodes.push(this.#single())
      if (nodes.length > count) isRepeatable = true
      else if (unit === '(') isRepeatable = nodes.length > 0
    }
    return sequenceNode(nodes)
  }

  #repetition(): { readonly min: number; readonly max: number } | undefined {
    const bounds = this.#repetitionBounds()
    // Lazy and greedy repetitions find the same whole matches.
    if (bounds !== undefined) this.#cursor.takeUnit('?')
    return bounds
  }

  #repetitionBounds(): { readonly min: number; readonly max: number } | undefined {
    const cursor = this.#cursor
    if (cursor.takeUnit('*')) return { min: 0, max: Infinity }
    if (cursor.takeUnit('+')) return { min: 1, max: Infinity }
    if (cursor.takeUnit('?')) return { min: 0, max: 1 }
    const from = cursor.index
    const counts = cursor.takeMatch(/\{(0|[1-9][0-9]*)(,(0|[1-9][0-9]*)?)?\}/y)
    if (counts === undefined) return undefined
    const [repetition, least, comma, most] = counts
    const min = Number(least)
    const max = comma === undefined ? min : most === undefined ? Infinity : Number(most)
    if (min > repeatMax || (max !== Infinity && max > repeatMax)) {
      throw unsupported(`repetition ${repetition}; the limit is ${repeatMax}`, from)
    }
    if (min > max) throw syntaxError(`repetition ${repetition} with its bounds in reverse order`, from)
    return { min, max }
  }

  #quoted(nodes: Node[]): void {
    const cursor = this.#cursor
    const end = cursor.text.indexOf('\\E', cursor.index)
    this.#hasOpenQuote = end === -1
    for (const character of cursor.text.slice(cursor.index + 2, end === -1 ? undefined : end)) {
      nodes.push(this.#literal(character))
    }
    cursor.index = end === -1 ? cursor.text.length : end + 2
  }

  #group(nodes: Node[], depth: number): void {
    const cursor = this.#cursor
    const from = cursor.index
    if (depth === groupDepthMax) throw unsupported(`groups nested more than ${groupDepthMax} deep`, from)
    for (const [opening, construct] of unsupportedGroups) {
      if (cursor.startsWith(opening)) throw notLinear(`${construct} "${opening}"`, from)
    }
    const outerFlags = this.#flags
    const captures = !cursor.startsWith('(?') || /[P<]/.test(cursor.unit(2) ?? '')
    if (this.#groupOpening()) return
    const node = this.#either(depth + 1)
    nodes.push(captures ? capturedNode(node) : node)
    if (!cursor.takeUnit(')')) throw syntaxError('unclosed group', from)
    this.#flags = outerFlags
  }

  /** Moves past a group's opening and sets its flags. @returns true if the group ends there, as in `(?i)` */
  #groupOpening(): boolean {
    const cursor = this.#cursor
    const from = cursor.index
    const [, name] = cursor.takeMatch(/\(\?P?<(\w+)>/y) ?? []
    if (name !== undefined) {
      if (this.#groupNames.has(name)) throw syntaxError(`duplicate group name "${name}"`, from)
      this.#groupNames.add(name)
      return false
    }
    const [, on, off = '', last] = cursor.takeMatch(/\(\?([imsU]*)(?:-([imsU]+))?([:)])/y) ?? []
    if (on !== undefined) {
      this.#setFlags(on, true)
      this.#setFlags(off, false)
      return last === ')'
    }
    if (cursor.unit(1) === '?') throw syntaxError(`unknown group "${cursor.text.slice(from, from + 3)}"`, from)
    cursor.index++
    return false
  }

  /** `U` swaps lazy and greedy, which makes no difference here. */
  #setFlags(letters: string, on: boolean): void {
    const { foldCase, dotAll, multiline } = this.#flags
    this.#flags = {
      foldCase: letters.includes('i') ? on : foldCase,
      dotAll: letters.includes('s') ? on : dotAll,
      multiline: letters.includes('m') ? on : multiline,
    }
  }

  /** One character, class or assertion. */
  #single(): Node {
    const cursor = this.#cursor
    const { foldCase, dotAll, multiline } = this.#flags
    if (cursor.unit() === '[') return this.#characters.bracketed(foldCase)
    if (cursor.unit() === '\\') return this.#escape()
    const character = cursor.takeCharacter()
    if (character === '.') return dotAll ? { kind: 'any', size: 1 } : unknownClass
    if (character === '^') return { kind: multiline ? 'boundary' : 'start', size: 1 }
    if (character === '$') return this.#end(1, multiline)
    return this.#literal(character)
  }

  #escape(): Node {
    const cursor = this.#cursor
    const next = cursor.unit(1) ?? ''
    if (/^[AzbB]$/.test(next)) {
      cursor.index += 2
      return next === 'z' ? this.#end(2, false) : { kind: next === 'A' ? 'start' : 'boundary', size: 1 }
    }
    if (/^[1-9k]$/.test(next)) throw notLinear(`back-reference "\\${next}"`, cursor.index)
    return this.#characters.classEscape(this.#flags.foldCase) ?? this.#literal(this.#characters.escaped())
  }

  /** The anchor that has just been read. */
  #end(length: number, ofLines: boolean): Node {
    const { index } = this.#cursor
    return { kind: 'end', from: index - length, to: index, ofLines, size: 1 }
  }

  #literal(character: string): Node {
    if (this.#flags.foldCase) return unknownClass
    // Only an escape can produce a lone surrogate. As text, two would join into another character.
    const code = character.charCodeAt(0)
    if (character.length === 1 && code >= 0xd800 && code <= 0xdfff) return classNode([[code, code]])
    return { kind: 'text', text: character, size: 1 }
  }
}
