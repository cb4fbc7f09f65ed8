/**
 * Every regular expression literal of the service takes linear time, whatever text it gets: a setting, a flag, a header or
 * a body. The texts are derived from each pattern's own source, so that a new pattern is covered without being listed.
 * Patterns of users have an engine of their own (selectors/). Those of the client and the console run at their users.
 */
import { Script } from 'node:vm'
import t from 'tap'
import ts from 'typescript'
import { type Source, sourcesOf } from '../support/sources.js'

/** The length of the texts: enough for quadratic time to differ from linear time by a factor of thousands. */
const characters = 10_000

/** What a linear pattern takes for so many, in ms: a thousandth on an idle machine. */
const linearMsMax = 25

/** After this time in ms for all texts of a pattern, V8 is interrupted: a hundred times as long as they take. */
const hangsMsDefault = 30_000

interface Pattern {
  readonly where: string
  readonly source: string
  readonly flags: string
}

function pattern(where: string, text: string): Pattern {
  const end = text.lastIndexOf('/')
  return { where, source: text.slice(1, end), flags: text.slice(end + 1) }
}

function patternsOf({ path, parsed }: Source): Pattern[] {
  const found: Pattern[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) found.push(pattern(`${path}: ${node.text}`, node.text))
    ts.forEachChild(node, visit)
  }
  visit(parsed)
  return found
}

/** The tokens of a pattern: one character of the text, or what has none (groups, assertions, quantifiers). */
const token =
  /\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|[pP]\{[^}]*\}|k<[^>]*>|.)|\[(?:\\.|[^\]\\])*\]|\(\?(?:[:=!]|<[=!]|<[^>]*>)|\{\d+,?\d*\}\??|./gisu
const withoutCharacter = /^(?:[()|^$?*+]|\(\?.+|\{.+|\\[bBk\d].*)$/s
const unbounded = /^(?:[*+]|\{\d+,\}\??)$/

const alphabet = [...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)), ...'\t\n\r\0é\u2028日\ufeff😀']

/** A text of almost `characters`: one that a pattern nearly matches up to a repetition, many of the same, and an end. */
interface Shape {
  readonly prefix: string
  readonly unit: string
  readonly end: string
}

function textOf({ prefix, unit, end }: Shape, length: number): string {
  return prefix + unit.repeat(Math.ceil(length / unit.length)) + end
}

function shapesFor({ source, flags }: Pattern): Shape[] {
  /** For each character that the pattern wants, in its order, those that it takes. */
  const wanted: string[][] = []
  /** How many characters precede each repetition, or end with what it repeats. */
  const before = new Set<number>()
  for (const [text] of source.matchAll(token)) {
    if (unbounded.test(text)) for (const less of [0, 1, 2]) before.add(Math.max(0, wanted.length - less))
    if (withoutCharacter.test(text)) continue
    const one = new RegExp(`^(?:${text})$`, flags.replace(/[gy]/g, ''))
    wanted.push(alphabet.filter((character) => one.test(character)))
  }
  // Without a repetition that has no bound, each place of a text takes a bounded time.
  if (before.size === 0) return []
  before.add(0)
  const sample = wanted.map(([first = '']) => first)
  // Of the characters that the pattern does not tell apart, one is enough.
  const told = new Map(
    alphabet.map((character) => [wanted.map((taken) => taken.includes(character)).join(), character]),
  )
  const units = new Set(told.values())
  for (const at of before) {
    for (const count of [2, 3]) units.add(sample.slice(at, at + count).join(''))
    for (const other of told.values()) units.add((sample[at] ?? '') + other)
  }
  units.delete('')
  const prefixes = new Set([...before].map((count) => sample.slice(0, count).join('')))
  return [...prefixes].flatMap((prefix) =>
    [...units].flatMap((unit) => ['', '\0', '\n!'].map((end) => ({ prefix, unit, end }))),
  )
}

function msFor(compiled: RegExp, text: string): number {
  const startMs = performance.now()
  text.replace(compiled, '')
  return performance.now() - startMs
}

/** Whether a pattern takes more than linear time. Of several times the least counts: others' work makes any longer. */
function isSlow(compiled: RegExp, shape: Shape): boolean {
  const leastMs = (length: number): number =>
    Math.min(...Array.from({ length: 3 }, () => msFor(compiled, textOf(shape, length))))
  if (msFor(compiled, textOf(shape, characters)) <= linearMsMax) return false
  const ms = leastMs(characters)
  // Four times as long a text takes four times as long, and sixteen times if the time is quadratic.
  return ms > linearMsMax && ms > 8 * leastMs(characters / 4)
}

const running = new Script('globalThis.interruptible()')

/** The text for which a pattern takes more than linear time, or hangs; undefined if none is found. */
function slowTextFor(pattern: Pattern, hangsMs = hangsMsDefault): Shape | undefined {
  const compiled = new RegExp(pattern.source, pattern.flags)
  let tried: Shape | undefined
  const interruptible = (): Shape | undefined => shapesFor(pattern).find((shape) => isSlow(compiled, (tried = shape)))
  Object.assign(globalThis, { interruptible })
  try {
    return running.runInThisContext({ timeout: hangsMs }) as Shape | undefined
  } catch {
    return tried
  }
}

t.test('the search finds exponential and quadratic time', (t) => {
  t.ok(slowTextFor(pattern('', '/^\\/([\\w.~-]+\\/?)*$/'), 1000), 'exponential')
  for (const text of ['/\\s*,\\s*/', '/0+$/']) t.ok(slowTextFor(pattern('', text)), text)
  t.end()
})

t.test('every pattern of the service takes linear time', (t) => {
  const isOfUsers = ({ path }: Source): boolean => /^src\/(client|console)\//.test(path)
  const patterns = sourcesOf('src')
    .filter((source) => !isOfUsers(source))
    .flatMap(patternsOf)
  t.ok(patterns.length > 50, `${patterns.length} patterns were found`)
  for (const pattern of patterns) t.equal(slowTextFor(pattern), undefined, pattern.where)
  t.end()
})
