/**
 * The REMOVAL expression: when a topic is to be removed by itself, and what goes with it.
 *
 *     when CONDITION [and|or CONDITION]… [remove 'SELECTOR']
 *
 *     time after MILLISECONDS | 'RFC 1123 DATE'      the wall clock is past that point
 *     no updates for PERIOD [after PERIOD]           idle for the first period; the second is a grace after creation
 *
 * `and` binds tighter than `or`; parentheses change that. A text becomes tokens, then a policy, then for each topic one
 * due time, which the store keeps in order. Pure and linear; nothing here reads a clock, removes anything or knows what
 * a selector is.
 */
import {
  removalBytesMax,
  removalConditionsMax,
  removalDepthMax,
  removalPeriodMsMax,
  removalTimeMsMax,
} from '../limits.js'

/** A checked REMOVAL expression. */
export interface RemovalPolicy {
  readonly condition: RemovalCondition
  /** The text of the remove clause, quotes and escapes undone. NOT checked to be a selector: that is the caller's work. */
  readonly selector: string | undefined
}

/** What must hold for the removal: a tree whose leaves are about time alone. */
export type RemovalCondition =
  | { readonly kind: 'time'; readonly afterMs: number }
  | { readonly kind: 'idle'; readonly idleMs: number; readonly graceMs: number }
  | { readonly kind: 'all' | 'any'; readonly conditions: readonly RemovalCondition[] }

/** Why a text is no REMOVAL expression, in words that a message can carry after the property's name. */
export interface RemovalProblem {
  readonly problem: string
}

/**
 * Checks a REMOVAL expression.
 *
 * @param text as the caller sent it
 * @returns the policy, or what is wrong at which character (counted from 1) and what is allowed there
 */
export function parseRemoval(text: string): RemovalPolicy | RemovalProblem {
  const bytes = Buffer.byteLength(text)
  if (bytes > removalBytesMax) {
    return { problem: `is ${bytes} bytes of UTF-8; at most ${removalBytesMax} are allowed` }
  }
  return new Parser(text).policy()
}

/**
 * The first millisecond of the wall clock at which the policy's condition holds, if no further update comes.
 *
 * Never infinite: each condition comes true by mere waiting. It may lie in the past. A later `updatedMs` never makes it
 * earlier. Whole milliseconds in, whole milliseconds out.
 *
 * @param createdMs when the topic was created
 * @param updatedMs when its value was last set; when it was created, as long as it never was
 */
export function dueMs(policy: RemovalPolicy, createdMs: number, updatedMs: number): number {
  return conditionDueMs(policy.condition, createdMs, updatedMs)
}

/** Whether an update can move the due time. If not, one computed at creation stays right for the topic's life. */
export function tracksUpdates(policy: RemovalPolicy): boolean {
  return holdsIdle(policy.condition)
}

function conditionDueMs(condition: RemovalCondition, createdMs: number, updatedMs: number): number {
  switch (condition.kind) {
    case 'time':
      return condition.afterMs + 1
    case 'idle':
      // Without a grace the creation must not count: after a clock step it can lie far in the future, and the next
      // update has to heal that.
      if (condition.graceMs === 0) return updatedMs + condition.idleMs
      return Math.max(updatedMs, createdMs + condition.graceMs) + condition.idleMs
    case 'all':
      return Math.max(...condition.conditions.map((inner) => conditionDueMs(inner, createdMs, updatedMs)))
    case 'any':
      return Math.min(...condition.conditions.map((inner) => conditionDueMs(inner, createdMs, updatedMs)))
    default:
      return condition satisfies never
  }
}

function holdsIdle(condition: RemovalCondition): boolean {
  if (condition.kind === 'time') return false
  return condition.kind === 'idle' || condition.conditions.some(holdsIdle)
}

/** `text` is a word as written, a quoted text undone, or for a broken token what is wrong with it. */
interface Token {
  readonly kind: 'word' | 'quoted' | 'open' | 'close' | 'end' | 'broken'
  readonly at: number
  readonly text: string
}

const tokenStart = /\s*(?:([()'"])|([^\s()'"]+))?/y

/** The tokens in order; the last is 'end', or 'broken' where no more tokens can be told apart. */
function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  let position = 0
  for (;;) {
    tokenStart.lastIndex = position
    const [whole, mark, word] = tokenStart.exec(text) as RegExpExecArray
    position += whole.length
    const at = position - (mark ?? word ?? '').length
    if (word !== undefined) {
      tokens.push({ kind: 'word', at, text: word })
    } else if (mark === '(' || mark === ')') {
      tokens.push({ kind: mark === '(' ? 'open' : 'close', at, text: mark })
    } else if (mark === undefined) {
      tokens.push({ kind: 'end', at, text: '' })
      return tokens
    } else {
      const quoted = readQuoted(text, at)
      tokens.push(quoted.token)
      if (quoted.token.kind === 'broken') return tokens
      position = quoted.end
    }
  }
}

/** Reads from an opening quote to its like. A backslash stands before a quote or a backslash and nowhere else. */
function readQuoted(text: string, start: number): { readonly token: Token; readonly end: number } {
  const quote = text[start]
  let value = ''
  let from = start + 1
  for (let i = from; i < text.length; i++) {
    if (text[i] === quote) {
      return { token: { kind: 'quoted', at: start, text: value + text.slice(from, i) }, end: i + 1 }
    }
    if (text[i] !== '\\') continue
    const escaped = text[i + 1]
    if (escaped !== '\\' && escaped !== '"' && escaped !== "'") {
      return broken(i, 'within quotes a backslash is written as \\\\, and \\ escapes only quotes and backslashes')
    }
    value += text.slice(from, i)
    from = i + 1
    i++
  }
  return broken(start, 'this quote is never closed')
}

function broken(at: number, problem: string): { readonly token: Token; readonly end: number } {
  return { token: { kind: 'broken', at, text: problem }, end: at }
}

/** How a condition on sessions or subscriptions begins, or goes on after "no". */
const foreignStart = /^(?:subscriptions?|sessions?|local|this)(?![a-z])/i

/** Recursive descent over the tokens; the depth of its recursion is bounded by `removalDepthMax`. */
class Parser {
  private readonly tokens: readonly Token[]
  private next = 0
  private conditionCount = 0

  constructor(private readonly text: string) {
    this.tokens = tokenize(text)
  }

  policy(): RemovalPolicy | RemovalProblem {
    if (!this.takeWord('when')) return this.expected('"when", as in "when no updates for 10m",')
    const condition = this.anyOf(0)
    if ('problem' in condition) return condition
    if (this.take('end')) return { condition, selector: undefined }
    if (!this.takeWord('remove')) return this.expected('"and", "or", "remove" or the end')
    const selector = this.token.text
    if (!this.take('quoted')) return this.expected('a selector in quotes')
    return this.take('end') ? { condition, selector } : this.expected('the end')
  }

  private anyOf(depth: number): RemovalCondition | RemovalProblem {
    return this.chain('or', 'any', () => this.allOf(depth))
  }

  private allOf(depth: number): RemovalCondition | RemovalProblem {
    return this.chain('and', 'all', () => this.one(depth))
  }

  private chain(
    operator: string,
    kind: 'all' | 'any',
    operand: () => RemovalCondition | RemovalProblem,
  ): RemovalCondition | RemovalProblem {
    const conditions: RemovalCondition[] = []
    do {
      const condition = operand()
      if ('problem' in condition) return condition
      conditions.push(condition)
    } while (this.takeWord(operator))
    return conditions.length === 1 ? conditions[0] : { kind, conditions }
  }

  private one(depth: number): RemovalCondition | RemovalProblem {
    if (this.token.kind === 'open' && depth === removalDepthMax) {
      return this.wrong(`at most ${removalDepthMax} parentheses may enclose each other`)
    }
    if (this.take('open')) {
      const inner = this.anyOf(depth + 1)
      if ('problem' in inner) return inner
      return this.take('close') ? inner : this.expected('"and", "or" or ")"')
    }
    if (this.token.kind === 'word' && this.conditionCount === removalConditionsMax) {
      return this.wrong(`at most ${removalConditionsMax} conditions are allowed`)
    }
    this.conditionCount++
    if (this.takeWord('time')) return this.timeAfter()
    if (this.takeWord('no')) return this.noUpdates()
    if (this.atForeignStart()) return this.foreign()
    return this.expected('"time after", "no updates for" or "("')
  }

  private timeAfter(): RemovalCondition | RemovalProblem {
    if (!this.takeWord('after')) return this.expected('"after"')
    const { kind, text } = this.token
    let afterMs: number
    if (kind === 'quoted') {
      const time = parseDate(text)
      if (typeof time === 'string') return this.wrong(time)
      afterMs = time
    } else if (kind === 'word' && /^\d+$/.test(text)) {
      afterMs = Number(text)
    } else {
      return this.expected(`milliseconds since 1970 or a quoted date such as ${dateExample}`)
    }
    if (afterMs < 0 || afterMs > removalTimeMsMax) {
      return this.wrong(`the time must lie in the years 1970 to 9999 (0 to ${removalTimeMsMax} milliseconds)`)
    }
    this.next++
    return { kind: 'time', afterMs }
  }

  private noUpdates(): RemovalCondition | RemovalProblem {
    if (!this.takeWord('updates')) return this.atForeignStart() ? this.foreign() : this.expected('"updates"')
    if (!this.takeWord('for')) return this.expected('"for"')
    const idleMs = this.periodMs()
    if (typeof idleMs !== 'number') return idleMs
    if (!this.takeWord('after')) return { kind: 'idle', idleMs, graceMs: 0 }
    const graceMs = this.periodMs()
    return typeof graceMs === 'number' ? { kind: 'idle', idleMs, graceMs } : graceMs
  }

  private periodMs(): number | RemovalProblem {
    const { kind, text } = this.token
    const parts = kind === 'word' ? /^(\d+)([smhd])$/.exec(text) : null
    if (parts === null) return this.expected('a period such as 30s, 10m, 12h or 7d')
    const periodMs = Number(parts[1]) * unitMs[parts[2] as keyof typeof unitMs]
    if (periodMs === 0 || periodMs > removalPeriodMsMax) {
      return this.wrong(`a period is at least 1s and at most ${removalPeriodMsMax / unitMs.d}d`)
    }
    this.next++
    return periodMs
  }

  private get token(): Token {
    return this.tokens[this.next]
  }

  /** Moves past the token if it is of that kind. */
  private take(kind: Token['kind']): boolean {
    if (this.token.kind !== kind) return false
    this.next++
    return true
  }

  /** Moves past the token if it is that keyword, in any case of letters. */
  private takeWord(word: string): boolean {
    const { kind, text } = this.token
    if (kind !== 'word' || text.toLowerCase() !== word) return false
    this.next++
    return true
  }

  private atForeignStart(): boolean {
    return this.token.kind === 'word' && foreignStart.test(this.token.text)
  }

  private foreign(): RemovalProblem {
    return this.wrong(
      'conditions on sessions or subscriptions do not exist here, only "time after" and "no updates for"',
    )
  }

  private expected(what: string): RemovalProblem {
    return this.wrong(`${what} is expected there`)
  }

  /** The problem with the token that the parser stands at; a broken token's own problem comes first. */
  private wrong(reason: string): RemovalProblem {
    const { kind, at, text } = this.token
    const character = characters(this.text.slice(0, at)).length + 1
    if (kind === 'end') return { problem: `ends too early, at character ${character}: ${reason}` }
    const found = excerpt(this.text.slice(at), kind === 'word' ? text.length : undefined)
    return { problem: `goes wrong at character ${character}, ${found}: ${kind === 'broken' ? text : reason}` }
  }
}

const unitMs = { s: 1000, m: 60 * 1000, h: 60 * 60 * 1000, d: 24 * 60 * 60 * 1000 } as const

/** Characters of the caller's text that a problem repeats: the place is given as a number, this only confirms it. */
const excerptMax = 16

/** The first `length` units of a text between the quotes that a message wants, cut short where it is long. */
function excerpt(text: string, length = text.length): string {
  const start = characters(text.slice(0, Math.min(length, 2 * (excerptMax + 1))))
  return start.length <= excerptMax ? `"${start.join('')}"` : `"${start.slice(0, excerptMax).join('')}…"`
}

function characters(text: string): string[] {
  return [...text.toWellFormed()]
}

const dateExample = "'Sun, 3 Jun 2018 11:05:30 GMT'"
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const weekdayNames = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const dateForm =
  /^(?:([a-z]{3}), )?(\d{1,2}) ([a-z]{3}) (\d{4}) (\d{2}):(\d{2})(?::(\d{2}))? (?:GMT|([+-])(\d{2})(\d{2}))$/i

/**
 * A date in the form of Java's RFC_1123_DATE_TIME, which Diffusion's documentation refers to: the weekday and the
 * seconds may be left out, the zone is GMT or ±hhmm. A weekday that is not the date's is refused rather than guessed
 * about: data is going to be removed by it.
 *
 * @returns milliseconds since 1970, or what is wrong
 */
function parseDate(text: string): number | string {
  const parts = dateForm.exec(text)
  if (parts === null) return `a date such as ${dateExample} (GMT or an offset such as +0100) is expected there`
  const [, weekday, day, month, year, hour, minute, second = '0', sign, offsetHour = '0', offsetMinute = '0'] = parts
  const monthIndex = months.indexOf(month.toLowerCase())
  // Through setUTCFullYear, since Date.UTC takes the years 0 to 99 for 1900 to 1999.
  const date = new Date(0)
  date.setUTCFullYear(Number(year), monthIndex, Number(day))
  if (monthIndex < 0 || date.getUTCMonth() !== monthIndex || date.getUTCDate() !== Number(day)) {
    return 'there is no such day in the calendar'
  }
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return 'there is no such time of day'
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return 'there is no such offset'
  if (weekday !== undefined && weekday.toLowerCase() !== weekdays[date.getUTCDay()]) {
    return `that day is a ${weekdayNames[date.getUTCDay()]}`
  }
  const local = date.getTime() + Number(hour) * unitMs.h + Number(minute) * unitMs.m + Number(second) * unitMs.s
  const offset = Number(offsetHour) * unitMs.h + Number(offsetMinute) * unitMs.m
  return sign === '-' ? local + offset : local - offset
}
