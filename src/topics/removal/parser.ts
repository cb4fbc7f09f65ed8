/**
 * The REMOVAL expression: the condition under which a topic is removed automatically, and the topics removed with it.
 *
 *     when CONDITION [and|or CONDITION]… [remove 'SELECTOR']
 *
 *     time after MILLISECONDS | 'RFC 1123 DATE'      the wall clock is past that point
 *     no updates for PERIOD [after PERIOD]           idle for the first period; the second is a grace period after creation
 *
 * `and` binds tighter than `or`; parentheses override that. The result is a policy (policy.ts), which gives the due time
 * of each topic. Pure; takes time linear in the length of the text.
 */
import {
  removalBytesMax,
  removalConditionsMax,
  removalDepthMax,
  removalParenthesesMax,
  removalPeriodMsMax,
  removalTimeMsMax,
} from '../../settings/limits.js'
import { dateExample, parseDate } from './date.js'
import { parsePeriod } from './period.js'
import type { RemovalCondition, RemovalPolicy } from './policy.js'

/** The reason why the text is not a REMOVAL expression, as a phrase that follows the property's name. */
interface RemovalProblem {
  readonly problem: string
}

/** @returns the policy; or the problem, with the character's position (counted from 1) and the syntax allowed there */
export function parseRemoval(text: string, parenthesesMax = removalParenthesesMax): RemovalPolicy | RemovalProblem {
  const bytes = Buffer.byteLength(text)
  if (bytes > removalBytesMax) {
    return { problem: `has ${bytes} bytes of UTF-8; the limit is ${removalBytesMax}` }
  }
  const parser = new RemovalParser(text, parenthesesMax)
  return parser.policy() ?? { problem: parser.problem }
}

/** The start of a condition on sessions or subscriptions, or its continuation after "no". */
const unsupportedStart = /^(?:subscriptions?|sessions?|local|this)(?![a-z])/i

const dayMs = 24 * 60 * 60 * 1000

const space = /\s*/y

/** A word, a parenthesis, or a quoted string up to its closing quote or to the first error in it. */
const token = /(?:[^\s()'"]+|[()]|'[^'\\]*(?:\\[\\'"][^'\\]*)*'?|"[^"\\]*(?:\\[\\'"][^"\\]*)*"?)?/y

/** A quoted-string token that includes its closing quote. */
const closed = /^(?:'[^\\]*(?:\\.[^\\]*)*'|"[^\\]*(?:\\.[^\\]*)*")$/s

/** The index after the match of a sticky expression that always matches. */
function endOf(expression: RegExp, text: string, start: number): number {
  expression.lastIndex = start
  expression.test(text)
  return expression.lastIndex
}

/** `removalDepthMax` bounds the recursion. Methods return undefined after they have set the problem. */
class RemovalParser {
  problem = ''
  /** The next token: its bounds, and its text, which is empty at the end. */
  #at = 0
  #end = 0
  #token = ''
  #conditionCount = 0
  #parenthesesCount = 0

  constructor(
    private readonly text: string,
    private readonly parenthesesMax: number,
  ) {
    this.#advance()
  }

  policy(): RemovalPolicy | undefined {
    if (!this.#take('when')) return this.#expected('"when", as in "when no updates for 10m"')
    const condition = this.#conditions(0)
    if (condition === undefined) return undefined
    if (this.#isAtEnd) return { condition, selector: undefined }
    if (!this.#take('remove')) return this.#expected('"and", "or", "remove" or the end')
    const selector = this.#quoted
    if (selector === undefined) return this.#expected('a selector in quotes')
    this.#advance()
    // A copy: a part of the text would keep all of it in memory for as long as the selector's plan is cached.
    return this.#isAtEnd ? { condition, selector: Buffer.from(selector).toString() } : this.#expected('the end')
  }

  get #isAtEnd(): boolean {
    return this.#token === ''
  }

  #advance(): void {
    this.#at = endOf(space, this.text, this.#end)
    this.#end = endOf(token, this.text, this.#at)
    this.#token = this.text.slice(this.#at, this.#end)
  }

  /** @param wanted a word, whose case is ignored, or a parenthesis */
  #take(wanted: string): boolean {
    // Fast path: most tokens have another length.
    if (this.#token.length !== wanted.length || this.#token.toLowerCase() !== wanted) return false
    this.#advance()
    return true
  }

  get #isWord(): boolean {
    return /^[^()'"]/.test(this.#token)
  }

  get #isQuote(): boolean {
    return this.#token.startsWith("'") || this.#token.startsWith('"')
  }

  /** The next token without its quotes and escapes; undefined if it is not quoted, or invalid. */
  get #quoted(): string | undefined {
    if (!this.#isQuote || !closed.test(this.#token)) return undefined
    const text = this.#token.slice(1, -1)
    return text.includes('\\') ? text.replace(/\\(.)/g, '$1') : text
  }

  /** Groups joined by `or`; each group consists of conditions joined by `and`. */
  #conditions(depth: number): RemovalCondition | undefined {
    let any: RemovalCondition[] | undefined
    for (;;) {
      let condition = this.#operand(depth)
      if (condition === undefined) return undefined
      if (this.#take('and')) {
        const all = [condition]
        do {
          condition = this.#operand(depth)
          if (condition === undefined) return undefined
          all.push(condition)
        } while (this.#take('and'))
        condition = { kind: 'all', conditions: all }
      }
      if (!this.#take('or')) {
        if (any === undefined) return condition
        any.push(condition)
        return { kind: 'any', conditions: any }
      }
      any ??= []
      any.push(condition)
    }
  }

  #operand(depth: number): RemovalCondition | undefined {
    if (depth === removalDepthMax && this.#token === '(') {
      return this.#wrong(`parentheses must not be nested more than ${removalDepthMax} deep`)
    }
    if (this.#parenthesesCount === this.parenthesesMax && this.#token === '(') {
      return this.#wrong(`there are more than ${removalParenthesesMax} pairs of parentheses`)
    }
    if (this.#take('(')) {
      this.#parenthesesCount++
      const inner = this.#conditions(depth + 1)
      if (inner === undefined || this.#take(')')) return inner
      return this.#expected('"and", "or" or ")"')
    }
    if (this.#conditionCount === removalConditionsMax && this.#isWord) {
      return this.#wrong(`there are more than ${removalConditionsMax} conditions`)
    }
    this.#conditionCount++
    if (this.#take('time')) return this.#timeAfter()
    if (this.#take('no')) return this.#noUpdates()
    return this.#isUnsupported() ? this.#unsupported() : this.#expected('"time after", "no updates for" or "("')
  }

  #timeAfter(): RemovalCondition | undefined {
    if (!this.#take('after')) return this.#expected('"after"')
    const quoted = this.#quoted
    if (quoted === undefined && !/^\d+$/.test(this.#token)) {
      return this.#expected(`milliseconds since 1970 or a quoted date such as ${dateExample}`)
    }
    const afterMs = quoted === undefined ? Number(this.#token) : parseDate(quoted)
    if (typeof afterMs === 'string') return this.#wrong(afterMs)
    if (afterMs < 0 || afterMs > removalTimeMsMax) {
      return this.#wrong(`the time must be in the years 1970 to 9999 (0 to ${removalTimeMsMax} milliseconds)`)
    }
    this.#advance()
    return { kind: 'time', afterMs }
  }

  #noUpdates(): RemovalCondition | undefined {
    if (!this.#take('updates')) {
      return this.#isUnsupported() ? this.#unsupported() : this.#expected('"updates"')
    }
    if (!this.#take('for')) return this.#expected('"for"')
    const idleMs = this.#periodMs()
    if (idleMs === undefined) return undefined
    const graceMs = this.#take('after') ? this.#periodMs() : 0
    return graceMs === undefined ? undefined : { kind: 'idle', idleMs, graceMs }
  }

  #periodMs(): number | undefined {
    const periodMs = parsePeriod(this.#token)
    if (periodMs === undefined) return this.#expected('a period such as 30s, 10m, 12h or 7d')
    if (periodMs === 0 || periodMs > removalPeriodMsMax) {
      return this.#wrong(`a period must be from 1s to ${removalPeriodMsMax / dayMs}d`)
    }
    this.#advance()
    return periodMs
  }

  #isUnsupported(): boolean {
    return unsupportedStart.test(this.#token)
  }

  #unsupported(): undefined {
    return this.#wrong(
      'conditions on sessions and subscriptions are not supported; use "time after" or "no updates for"',
    )
  }

  #expected(what: string): undefined {
    return this.#wrong(`expected ${what}`)
  }

  /** Sets the problem at the next token; an error within a quoted string takes precedence over `reason`. */
  #wrong(reason: string): undefined {
    const isBroken = this.#isQuote && this.#quoted === undefined
    const isUnclosed = this.#end === this.text.length
    const start = isBroken && !isUnclosed ? this.#end : this.#at
    const character = characters(this.text.slice(0, start)).length + 1
    const rest = this.text.slice(start, this.#isWord ? this.#end : undefined)
    const found = this.#isAtEnd ? 'at the end' : `near ${excerpt(rest)}`
    const broken = isUnclosed
      ? 'the quote is not closed'
      : 'within quotes, write a backslash as \\\\; \\ escapes only quotes and backslashes'
    this.problem = `has a syntax error at character ${character}, ${found}: ${isBroken ? broken : reason}`
    return undefined
  }
}

/** Maximum characters of the client's text in a problem: the position is given as a number, and the text confirms it. */
const excerptMax = 16

function excerpt(text: string): string {
  const first = characters(text.slice(0, 2 * (excerptMax + 1)))
  return first.length <= excerptMax ? `"${first.join('')}"` : `"${first.slice(0, excerptMax).join('')}…"`
}

function characters(text: string): string[] {
  return [...text.toWellFormed()]
}
