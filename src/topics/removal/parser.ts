/**
 * The REMOVAL expression: when a topic is removed without a request, and what is removed with it.
 *
 *     when CONDITION [and|or CONDITION]… [remove 'SELECTOR']
 *
 *     time after MILLISECONDS | 'RFC 1123 DATE'      the wall clock is past that point
 *     no updates for PERIOD [after PERIOD]           idle for the first period; the second is a grace period after creation
 *
 * `and` binds tighter than `or`; parentheses override that. A text becomes tokens (tokens.ts) and then a policy
 * (policy.ts), which gives the due time of each topic. Pure; takes time in proportion to the text's length.
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
import { parseCount, parsePeriod } from './period.js'
import type { RemovalCondition, RemovalPolicy } from './policy.js'
import { RemovalText } from './tokens.js'

/** Why a text is not a REMOVAL expression, as a phrase that follows the property's name. */
interface RemovalProblem {
  readonly problem: string
}

/** @returns the policy, or what is wrong at which character (counted from 1) and what is allowed there */
export function parseRemoval(text: string, parenthesesMax = removalParenthesesMax): RemovalPolicy | RemovalProblem {
  const bytes = Buffer.byteLength(text)
  if (bytes > removalBytesMax) {
    return { problem: `is ${bytes} bytes of UTF-8; at most ${removalBytesMax} are allowed` }
  }
  const parser = new RemovalParser(text, parenthesesMax)
  return parser.policy() ?? { problem: parser.problem }
}

/** How a condition on sessions or subscriptions begins, or continues after "no". */
const unsupportedStart = /^(?:subscriptions?|sessions?|local|this)(?![a-z])/i

const dayMs = 24 * 60 * 60 * 1000

/** `removalDepthMax` bounds the recursion. Methods return undefined once they have set the problem. */
class RemovalParser {
  problem = ''
  readonly #tokens: RemovalText
  readonly #parenthesesMax: number
  #conditionCount = 0
  #parenthesesCount = 0

  constructor(text: string, parenthesesMax: number) {
    this.#parenthesesMax = parenthesesMax
    this.#tokens = new RemovalText(text)
  }

  policy(): RemovalPolicy | undefined {
    if (!this.#tokens.takeWord('when')) return this.#expected('"when", as in "when no updates for 10m"')
    const condition = this.#conditions(0)
    if (condition === undefined) return undefined
    if (this.#tokens.isAtEnd) return { condition, selector: undefined }
    if (!this.#tokens.takeWord('remove')) return this.#expected('"and", "or", "remove" or the end')
    const selector = this.#tokens.readQuoted()
    if (selector?.text === undefined) return this.#expected('a selector in quotes')
    this.#tokens.moveTo(selector.end)
    return this.#tokens.isAtEnd ? { condition, selector: selector.text } : this.#expected('the end')
  }

  /** Conditions joined by `or`, each of which is conditions joined by `and`. */
  #conditions(depth: number): RemovalCondition | undefined {
    let any: RemovalCondition[] | undefined
    for (;;) {
      let condition = this.#operand(depth)
      if (condition === undefined) return undefined
      if (this.#tokens.takeWord('and')) {
        const all = [condition]
        do {
          condition = this.#operand(depth)
          if (condition === undefined) return undefined
          all.push(condition)
        } while (this.#tokens.takeWord('and'))
        condition = { kind: 'all', conditions: all }
      }
      if (!this.#tokens.takeWord('or')) {
        if (any === undefined) return condition
        any.push(condition)
        return { kind: 'any', conditions: any }
      }
      any ??= []
      any.push(condition)
    }
  }

  #operand(depth: number): RemovalCondition | undefined {
    if (depth === removalDepthMax && this.#tokens.isAt('(')) {
      return this.#wrong(`parentheses may be nested at most ${removalDepthMax} deep`)
    }
    if (this.#parenthesesCount === this.#parenthesesMax && this.#tokens.isAt('(')) {
      return this.#wrong(`at most ${removalParenthesesMax} pairs of parentheses are allowed`)
    }
    if (this.#tokens.take('(')) {
      this.#parenthesesCount++
      const inner = this.#conditions(depth + 1)
      if (inner === undefined || this.#tokens.take(')')) return inner
      return this.#expected('"and", "or" or ")"')
    }
    if (this.#conditionCount === removalConditionsMax && this.#tokens.isAtWord) {
      return this.#wrong(`at most ${removalConditionsMax} conditions are allowed`)
    }
    this.#conditionCount++
    if (this.#tokens.takeWord('time')) return this.#timeAfter()
    if (this.#tokens.takeWord('no')) return this.#noUpdates()
    return this.#isUnsupported() ? this.#unsupported() : this.#expected('"time after", "no updates for" or "("')
  }

  #timeAfter(): RemovalCondition | undefined {
    if (!this.#tokens.takeWord('after')) return this.#expected('"after"')
    const { text, at, wordEnd } = this.#tokens
    const quoted = this.#tokens.readQuoted()
    const afterMs = quoted?.text === undefined ? parseCount(text, at, wordEnd) : parseDate(quoted.text)
    if (afterMs === undefined) {
      return this.#expected(`milliseconds since 1970 or a quoted date such as ${dateExample}`)
    }
    if (typeof afterMs === 'string') return this.#wrong(afterMs)
    if (afterMs < 0 || afterMs > removalTimeMsMax) {
      return this.#wrong(`the time must be in the years 1970 to 9999 (0 to ${removalTimeMsMax} milliseconds)`)
    }
    this.#tokens.moveTo(quoted?.end ?? wordEnd)
    return { kind: 'time', afterMs }
  }

  #noUpdates(): RemovalCondition | undefined {
    if (!this.#tokens.takeWord('updates')) {
      return this.#isUnsupported() ? this.#unsupported() : this.#expected('"updates"')
    }
    if (!this.#tokens.takeWord('for')) return this.#expected('"for"')
    const idleMs = this.#periodMs()
    if (idleMs === undefined) return undefined
    const graceMs = this.#tokens.takeWord('after') ? this.#periodMs() : 0
    return graceMs === undefined ? undefined : { kind: 'idle', idleMs, graceMs }
  }

  #periodMs(): number | undefined {
    const { text, at, wordEnd } = this.#tokens
    const periodMs = parsePeriod(text, at, wordEnd)
    if (periodMs === undefined) return this.#expected('a period such as 30s, 10m, 12h or 7d')
    if (periodMs === 0 || periodMs > removalPeriodMsMax) {
      return this.#wrong(`a period is at least 1s and at most ${removalPeriodMsMax / dayMs}d`)
    }
    this.#tokens.moveTo(wordEnd)
    return periodMs
  }

  #isUnsupported(): boolean {
    const { text, at, wordEnd } = this.#tokens
    return unsupportedStart.test(text.slice(at, wordEnd))
  }

  #unsupported(): undefined {
    return this.#wrong(
      'conditions on sessions and subscriptions are not supported here, only "time after" and "no updates for"',
    )
  }

  #expected(what: string): undefined {
    return this.#wrong(`expected ${what}`)
  }

  /** Sets the problem at the next token; what is wrong with a quoted text takes precedence over `reason`. */
  #wrong(reason: string): undefined {
    const { text, at, isAtEnd, isAtWord, wordEnd } = this.#tokens
    const quoted = this.#tokens.readQuoted()
    const start = quoted?.start ?? at
    const character = characters(text.slice(0, start)).length + 1
    const found = isAtEnd ? 'at the end' : `near ${excerpt(text.slice(start), isAtWord ? wordEnd - at : undefined)}`
    this.problem = `has a syntax error at character ${character}, ${found}: ${quoted?.problem ?? reason}`
    return undefined
  }
}

/** Characters of the client's text that a problem repeats: the position is given as a number, this only confirms it. */
const excerptMax = 16

/** @param length in UTF-16 units; a long excerpt is truncated */
function excerpt(text: string, length = text.length): string {
  const first = characters(text.slice(0, Math.min(length, 2 * (excerptMax + 1))))
  return first.length <= excerptMax ? `"${first.join('')}"` : `"${first.slice(0, excerptMax).join('')}…"`
}

function characters(text: string): string[] {
  return [...text.toWellFormed()]
}
