/**
 * The REMOVAL expression: when a topic is removed without a request, and what is removed with it.
 *
 *     when CONDITION [and|or CONDITION]… [remove 'SELECTOR']
 *
 *     time after MILLISECONDS | 'RFC 1123 DATE'      the wall clock is past that point
 *     no updates for PERIOD [after PERIOD]           idle for the first period; the second is a grace period after creation
 *
 * `and` binds tighter than `or`; parentheses override that. A text becomes tokens (removal-tokens.ts) and then a policy
 * (removal-policy.ts), which gives the due time of each topic. Pure; takes time in proportion to the text's length.
 */
import {
  removalBytesMax,
  removalConditionsMax,
  removalDepthMax,
  removalPeriodMsMax,
  removalTimeMsMax,
} from '../limits.js'
import { parsePeriod } from './period.js'
import type { RemovalCondition, RemovalPolicy } from './removal-policy.js'
import { readToken, type Token } from './removal-tokens.js'
import { dateExample, parseDate } from './rfc1123-date.js'

/** Why a text is not a REMOVAL expression, as a phrase that follows the property's name. */
interface RemovalProblem {
  readonly problem: string
}

/**
 * Parses and checks a REMOVAL expression.
 *
 * @param text as the client sent it
 * @returns the policy, or what is wrong at which character (counted from 1) and what is allowed there
 */
export function parseRemoval(text: string): RemovalPolicy | RemovalProblem {
  const bytes = Buffer.byteLength(text)
  if (bytes > removalBytesMax) {
    return { problem: `is ${bytes} bytes of UTF-8; at most ${removalBytesMax} are allowed` }
  }
  return new RemovalParser(text).policy()
}

/** How a condition on sessions or subscriptions begins, or continues after "no". */
const unsupportedStart = /^(?:subscriptions?|sessions?|local|this)(?![a-z])/i

const dayMs = 24 * 60 * 60 * 1000

/** Recursive descent over the tokens. `removalDepthMax` bounds the depth of the recursion. */
class RemovalParser {
  readonly #text: string
  #token: Token
  #conditionCount = 0

  constructor(text: string) {
    this.#text = text
    this.#token = readToken(text, 0)
  }

  policy(): RemovalPolicy | RemovalProblem {
    if (!this.#takeWord('when')) return this.#expected('"when", as in "when no updates for 10m"')
    const condition = this.#anyOf(0)
    if ('problem' in condition) return condition
    if (this.#take('end')) return { condition, selector: undefined }
    if (!this.#takeWord('remove')) return this.#expected('"and", "or", "remove" or the end')
    const selector = this.#token.text
    if (!this.#take('quoted')) return this.#expected('a selector in quotes')
    return this.#take('end') ? { condition, selector } : this.#expected('the end')
  }

  #anyOf(depth: number): RemovalCondition | RemovalProblem {
    return this.#chain('or', 'any', () => this.#allOf(depth))
  }

  #allOf(depth: number): RemovalCondition | RemovalProblem {
    return this.#chain('and', 'all', () => this.#operand(depth))
  }

  #chain(
    operator: string,
    kind: 'all' | 'any',
    operand: () => RemovalCondition | RemovalProblem,
  ): RemovalCondition | RemovalProblem {
    const first = operand()
    if ('problem' in first) return first
    const conditions = [first]
    while (this.#takeWord(operator)) {
      const condition = operand()
      if ('problem' in condition) return condition
      conditions.push(condition)
    }
    return conditions.length === 1 ? first : { kind, conditions }
  }

  #operand(depth: number): RemovalCondition | RemovalProblem {
    if (this.#token.kind === 'open' && depth === removalDepthMax) {
      return this.#problem(`parentheses may be nested at most ${removalDepthMax} deep`)
    }
    if (this.#take('open')) {
      const inner = this.#anyOf(depth + 1)
      if ('problem' in inner) return inner
      return this.#take('close') ? inner : this.#expected('"and", "or" or ")"')
    }
    if (this.#token.kind === 'word' && this.#conditionCount === removalConditionsMax) {
      return this.#problem(`at most ${removalConditionsMax} conditions are allowed`)
    }
    this.#conditionCount++
    if (this.#takeWord('time')) return this.#timeAfter()
    if (this.#takeWord('no')) return this.#noUpdates()
    if (this.#isUnsupported()) return this.#unsupported()
    return this.#expected('"time after", "no updates for" or "("')
  }

  #timeAfter(): RemovalCondition | RemovalProblem {
    if (!this.#takeWord('after')) return this.#expected('"after"')
    const { kind, text } = this.#token
    let afterMs: number
    if (kind === 'quoted') {
      const time = parseDate(text)
      if (typeof time === 'string') return this.#problem(time)
      afterMs = time
    } else if (kind === 'word' && /^\d+$/.test(text)) {
      afterMs = Number(text)
    } else {
      return this.#expected(`milliseconds since 1970 or a quoted date such as ${dateExample}`)
    }
    if (afterMs < 0 || afterMs > removalTimeMsMax) {
      return this.#problem(`the time must be in the years 1970 to 9999 (0 to ${removalTimeMsMax} milliseconds)`)
    }
    this.#advance()
    return { kind: 'time', afterMs }
  }

  #noUpdates(): RemovalCondition | RemovalProblem {
    if (!this.#takeWord('updates')) return this.#isUnsupported() ? this.#unsupported() : this.#expected('"updates"')
    if (!this.#takeWord('for')) return this.#expected('"for"')
    const idleMs = this.#periodMs()
    if (typeof idleMs !== 'number') return idleMs
    if (!this.#takeWord('after')) return { kind: 'idle', idleMs, graceMs: 0 }
    const graceMs = this.#periodMs()
    return typeof graceMs === 'number' ? { kind: 'idle', idleMs, graceMs } : graceMs
  }

  #periodMs(): number | RemovalProblem {
    const { kind, text } = this.#token
    const periodMs = kind === 'word' ? parsePeriod(text) : undefined
    if (periodMs === undefined) return this.#expected('a period such as 30s, 10m, 12h or 7d')
    if (periodMs === 0 || periodMs > removalPeriodMsMax) {
      return this.#problem(`a period is at least 1s and at most ${removalPeriodMsMax / dayMs}d`)
    }
    this.#advance()
    return periodMs
  }

  #advance(): void {
    this.#token = readToken(this.#text, this.#token.end)
  }

  /** Moves past the token if it is of that kind. */
  #take(kind: Token['kind']): boolean {
    if (this.#token.kind !== kind) return false
    this.#advance()
    return true
  }

  /** Moves past the token if it is that keyword, in upper or lower case. */
  #takeWord(word: string): boolean {
    const { kind, text } = this.#token
    if (kind !== 'word' || text.length !== word.length || text.toLowerCase() !== word) return false
    this.#advance()
    return true
  }

  #isUnsupported(): boolean {
    return this.#token.kind === 'word' && unsupportedStart.test(this.#token.text)
  }

  #unsupported(): RemovalProblem {
    return this.#problem(
      'conditions on sessions and subscriptions are not supported here, only "time after" and "no updates for"',
    )
  }

  #expected(what: string): RemovalProblem {
    return this.#problem(`expected ${what}`)
  }

  /** The problem at the current token; a broken token's own problem takes precedence over `reason`. */
  #problem(reason: string): RemovalProblem {
    const { kind, start, text } = this.#token
    const character = characters(this.#text.slice(0, start)).length + 1
    const found =
      kind === 'end'
        ? 'at the end'
        : `near ${excerpt(this.#text.slice(start), kind === 'word' ? text.length : undefined)}`
    return { problem: `has a syntax error at character ${character}, ${found}: ${kind === 'broken' ? text : reason}` }
  }
}

/** Characters of the client's text that a problem repeats: the position is given as a number, this only confirms it. */
const excerptMax = 16

/** The first `length` UTF-16 units of a text, in quotes for a message, truncated where they are long. */
function excerpt(text: string, length = text.length): string {
  const first = characters(text.slice(0, Math.min(length, 2 * (excerptMax + 1))))
  return first.length <= excerptMax ? `"${first.join('')}"` : `"${first.slice(0, excerptMax).join('')}…"`
}

function characters(text: string): string[] {
  return [...text.toWellFormed()]
}
