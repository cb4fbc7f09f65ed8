/**
 * The syntax of one regular expression: text in, a tree out, or what is wrong and at which index.
 *
 * The language is RE2's, with `.` matching every character. The tree serves what an engine does not tell: literal
 * prefixes (pattern-prefixes.ts), whether the built-in engine is harmless, and what the pattern may cost (pattern.ts). What
 * only the engine knows in full (case folding, Unicode classes) stands in the tree as a class without ranges.
 */
import { groupDepthMax, repeatMax } from '../limits.js'
import { codePointMax, complement, perlClasses, type Ranges, sortedRanges } from './character-classes.js'

/** A part of a pattern; `size` is about the number of instructions that an engine needs for it. */
export type Node =
  | { readonly kind: 'text'; readonly text: string; readonly size: number }
  | { readonly kind: 'any'; readonly size: number }
  | { readonly kind: 'class'; readonly ranges: Ranges | undefined; readonly size: number }
  | { readonly kind: 'start' | 'end' | 'boundary'; readonly size: number }
  | { readonly kind: 'sequence' | 'either'; readonly nodes: readonly Node[]; readonly size: number }
  | { readonly kind: 'repeat'; readonly node: Node; readonly min: number; readonly max: number; readonly size: number }

/** A tree, and what the engine has yet to judge: the Unicode and POSIX classes, whose names only it knows. */
export interface Syntax {
  readonly node: Node
  readonly named: readonly { readonly text: string; readonly at: number }[]
  /** The pattern's text with an open `\Q` closed, so that more can be written after it. */
  readonly source: string
}

/**
 * Why a text is no pattern. `refused`: it is one elsewhere, but asks for what linear time or a limit rules out; otherwise
 * it is no regular expression at all. `problem` names what was found, `at` its index.
 */
export interface SyntaxProblem {
  readonly problem: string
  readonly at: number
  readonly refused: boolean
}

/** Reads one pattern; never throws. */
export function readSyntax(text: string): Syntax | SyntaxProblem {
  try {
    return new Reader(text).read()
  } catch (error) {
    if (error instanceof Stop) return { problem: error.message, at: error.at, refused: error.refused }
    throw error
  }
}

class Stop extends Error {
  constructor(
    problem: string,
    readonly at: number,
    readonly refused: boolean,
  ) {
    super(problem)
  }
}

const controls: Readonly<Record<string, string>> = { a: '\x07', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }
const beyond = 'which the linear-time engine does not offer (\\Q…\\E quotes plain text)'
const opaque: Node = { kind: 'class', ranges: undefined, size: 1 }
const refusedGroups: readonly (readonly [string, string])[] = [
  ['(?=', 'a look-ahead'],
  ['(?!', 'a look-ahead'],
  ['(?<=', 'a look-behind'],
  ['(?<!', 'a look-behind'],
  ['(?>', 'an atomic group'],
  ['(?(', 'a conditional group'],
]

/** One reading, from left to right; a group's flags end with the group. */
class Reader {
  private at = 0
  private foldCase = false
  private dotAll = true
  private multiline = false
  private readonly named: { text: string; at: number }[] = []
  private readonly groupNames = new Set<string>()
  private openQuote = false

  constructor(private readonly text: string) {}

  read(): Syntax {
    const node = this.either(0)
    if (this.at < this.text.length) throw this.wrong('a ")" that closes no group', this.at)
    return { node, named: this.named, source: this.openQuote ? `${this.text}\\E` : this.text }
  }

  private either(depth: number): Node {
    const nodes = [this.sequence(depth)]
    while (this.text[this.at] === '|') {
      this.at++
      nodes.push(this.sequence(depth))
    }
    return nodes.length === 1 ? nodes[0] : { kind: 'either', nodes, size: total(nodes) + nodes.length - 1 }
  }

  private sequence(depth: number): Node {
    const nodes: Node[] = []
    // A repetition applies to the node before it, unless that was repeated already.
    let repeated = false
    let repeatable = false
    while (this.at < this.text.length) {
      const from = this.at
      const char = this.text[from]
      if (char === '|' || char === ')') break
      const bounds = this.repetition()
      if (bounds !== undefined) {
        if (repeated) throw this.wrong('a repetition of a repetition', from)
        if (!repeatable) throw this.wrong(`a "${char}" with nothing before it to repeat`, from)
        nodes.push(repeat(nodes.pop() as Node, bounds.min, bounds.max))
        repeated = true
        continue
      }
      repeated = false
      const count = nodes.length
      if (char === '\\' && this.text[from + 1] === 'Q') this.quoted(nodes)
      else if (char === '(') this.group(nodes, depth)
      else nodes.push(this.single())
      if (nodes.length > count) repeatable = true
      else if (char === '(') repeatable = nodes.length > 0
    }
    return nodes.length === 1 ? nodes[0] : { kind: 'sequence', nodes, size: total(nodes) }
  }

  private repetition(): { min: number; max: number } | undefined {
    const char = this.text[this.at]
    let bounds: { min: number; max: number }
    if (char === '*') bounds = { min: 0, max: Infinity }
    else if (char === '+') bounds = { min: 1, max: Infinity }
    else if (char === '?') bounds = { min: 0, max: 1 }
    else if (char === '{') {
      const counts = this.match(/\{(0|[1-9][0-9]*)(,(0|[1-9][0-9]*)?)?\}/y)
      if (counts === undefined) return undefined
      const min = Number(counts[1])
      const max = counts[2] === undefined ? min : counts[3] === undefined ? Infinity : Number(counts[3])
      if (min > repeatMax || (max !== Infinity && max > repeatMax)) {
        throw this.refuse(`the repetition ${counts[0]}, which counts beyond ${repeatMax}`, this.at)
      }
      if (min > max) throw this.wrong(`the repetition ${counts[0]}, whose bounds are in the wrong order`, this.at)
      bounds = { min, max }
      this.at += counts[0].length - 1
    } else return undefined
    this.at++
    // Lazy or greedy finds the same whole matches.
    if (this.text[this.at] === '?') this.at++
    return bounds
  }

  private quoted(nodes: Node[]): void {
    const end = this.text.indexOf('\\E', this.at)
    this.openQuote = end === -1
    for (const char of this.text.slice(this.at + 2, end === -1 ? undefined : end)) nodes.push(this.literal(char))
    this.at = end === -1 ? this.text.length : end + 2
  }

  private group(nodes: Node[], depth: number): void {
    const from = this.at
    if (depth === groupDepthMax) throw this.refuse(`groups more than ${groupDepthMax} deep`, from)
    for (const [opening, construct] of refusedGroups) {
      if (this.text.startsWith(opening, from)) throw this.refuse(`${construct} "${opening}", ${beyond}`, from)
    }
    const { foldCase, dotAll, multiline } = this
    const name = this.match(/\(\?P?<(\w+)>/y)
    const flags = this.match(/\(\?([imsU]*)(?:-([imsU]+))?([:)])/y)
    if (name !== undefined) {
      if (this.groupNames.has(name[1])) throw this.wrong(`a second group named "${name[1]}"`, from)
      this.groupNames.add(name[1])
      this.at += name[0].length
    } else if (flags !== undefined) {
      this.at += flags[0].length
      this.setFlags(flags[1], true)
      this.setFlags(flags[2] ?? '', false)
      if (flags[3] === ')') return
    } else if (this.text[from + 1] === '?') {
      throw this.wrong(`the unknown group "${this.text.slice(from, from + 3)}"`, from)
    } else this.at++
    nodes.push(this.either(depth + 1))
    if (this.text[this.at] !== ')') throw this.wrong('a group that is not closed', from)
    this.at++
    Object.assign(this, { foldCase, dotAll, multiline })
  }

  private setFlags(letters: string, on: boolean): void {
    if (letters.includes('i')) this.foldCase = on
    if (letters.includes('s')) this.dotAll = on
    if (letters.includes('m')) this.multiline = on
  }

  /** One character, class or assertion. */
  private single(): Node {
    const from = this.at
    const char = String.fromCodePoint(this.text.codePointAt(from) as number)
    if (char === '[') return this.bracketed()
    if (char === '\\') {
      const next = this.text[from + 1]
      if (next === 'A' || next === 'z' || next === 'b' || next === 'B') {
        this.at += 2
        return { kind: next === 'A' ? 'start' : next === 'z' ? 'end' : 'boundary', size: 1 }
      }
      if (next >= '1' && next <= '9') throw this.refuse(`a back-reference "\\${next}", ${beyond}`, from)
      if (next === 'k') throw this.refuse(`a back-reference "\\k", ${beyond}`, from)
      const ranges = this.classEscape()
      if (ranges !== undefined) return ranges === 'named' ? opaque : { kind: 'class', ranges, size: 1 }
      return this.literal(this.escaped())
    }
    this.at += char.length
    if (char === '.') return this.dotAll ? { kind: 'any', size: 1 } : opaque
    if (char === '^') return { kind: this.multiline ? 'boundary' : 'start', size: 1 }
    if (char === '$') return { kind: this.multiline ? 'boundary' : 'end', size: 1 }
    return this.literal(char)
  }

  private literal(char: string): Node {
    if (this.foldCase) return opaque
    // Only an escape gives a lone surrogate; as text, two of them would join into another character.
    const code = char.charCodeAt(0)
    if (char.length === 1 && code >= 0xd800 && code <= 0xdfff) return { kind: 'class', ranges: [code, code], size: 1 }
    return { kind: 'text', text: char, size: 1 }
  }

  private bracketed(): Node {
    const from = this.at++
    const negated = this.text[this.at] === '^'
    if (negated) this.at++
    const found: number[] = []
    let known = !this.foldCase
    for (let first = true; first || this.text[this.at] !== ']'; first = false) {
      if (this.text.startsWith('&&[', this.at)) throw this.refuse(`a class intersection "&&[", ${beyond}`, this.at)
      const posix = this.match(/\[(?=:).*?:\]/sy)
      if (posix !== undefined) {
        this.named.push({ text: `[${posix[0]}]`, at: this.at })
        this.at += posix[0].length
        known = false
        continue
      }
      const ranges = this.classEscape()
      if (ranges === 'named') known = false
      else if (ranges !== undefined) found.push(...ranges)
      else {
        const low = this.classChar(from)
        let high = low
        if (this.text[this.at] === '-' && this.text[this.at + 1] !== ']') {
          this.at++
          high = this.classChar(from)
          if (high < low) throw this.wrong('a class whose range runs backwards', from)
        }
        found.push(low, high)
      }
    }
    this.at++
    if (!known) return opaque
    const ranges = sortedRanges(found)
    return { kind: 'class', ranges: negated ? complement(ranges) : ranges, size: 1 }
  }

  private classChar(from: number): number {
    if (this.at >= this.text.length) throw this.wrong('a class that is not closed by "]"', from)
    if (this.text[this.at] === '\\') return this.escaped().codePointAt(0) as number
    const code = this.text.codePointAt(this.at) as number
    this.at += code > 0xffff ? 2 : 1
    return code
  }

  /** `\d` and its kin as ranges; a Unicode class, whose name the engine is to judge, as 'named'. */
  private classEscape(): Ranges | 'named' | undefined {
    const unicode = this.match(/\\[pP](?:\{[^}]*\}|[^{])/suy)
    if (unicode !== undefined) {
      this.named.push({ text: unicode[0], at: this.at })
      this.at += unicode[0].length
      return 'named'
    }
    if (this.text[this.at] !== '\\' || !Object.hasOwn(perlClasses, this.text[this.at + 1] ?? '')) return undefined
    this.at += 2
    return this.foldCase ? 'named' : perlClasses[this.text[this.at - 1]]
  }

  private escaped(): string {
    const from = this.at
    const next = this.text[from + 1]
    if (next === undefined) throw this.wrong('a backslash with nothing after it', from)
    const hex = this.match(/\\x(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]+)\})/y)
    const octal = this.match(/\\(0[0-7]{0,2}|[1-7][0-7]{1,2})/y)
    const code = hex !== undefined ? parseInt(hex[1] ?? hex[2], 16) : octal !== undefined ? parseInt(octal[1], 8) : NaN
    if (code <= codePointMax) {
      this.at += (hex ?? octal ?? [''])[0].length
      return String.fromCodePoint(code)
    }
    if (/[A-Za-z0-9]|[^\x00-\x7f]/.test(next) && !Object.hasOwn(controls, next)) {
      throw this.wrong(
        `the unknown escape "\\${String.fromCodePoint(this.text.codePointAt(from + 1) as number)}"`,
        from,
      )
    }
    this.at += 2
    return controls[next] ?? next
  }

  private match(sticky: RegExp): RegExpExecArray | undefined {
    sticky.lastIndex = this.at
    return sticky.exec(this.text) ?? undefined
  }

  private wrong(problem: string, at: number): Stop {
    return new Stop(problem, at, false)
  }

  private refuse(problem: string, at: number): Stop {
    return new Stop(problem, at, true)
  }
}

function repeat(node: Node, min: number, max: number): Node {
  const times = max === Infinity ? Math.max(min, 1) : max
  return { kind: 'repeat', node, min, max, size: Math.max(1, times) * Math.max(1, node.size) + 1 }
}

function total(nodes: readonly Node[]): number {
  let size = 0
  for (const node of nodes) size += node.size
  return size
}
