/**
 * Every regular expression literal of the service takes linear time for any text: a setting, a flag, a header or a body. The texts are
 * derived from each pattern's own source, so that a new pattern is covered without being listed. Users' patterns have their own engine
 * (selectors/). The patterns of the client and the console run on the user's machine.
 */
import { Script } from 'node:vm'
import t from 'tap'
import ts from 'typescript'
import { type Source, sourcesOf } from '../support/sources.js'

/** The length of the texts: enough for quadratic time to differ from linear time by a factor of thousands. */
const characters = 10_000

/** The time limit of a linear pattern for such a text, in ms; on an idle machine it takes a thousandth of this. */
const linearMsMax = 25

/** The time limit in ms for all texts of a pattern, after which V8 is interrupted: 100 times their usual time. */
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

/** The tokens of a pattern: one that matches a character of the text, or one that matches none (groups, assertions, quantifiers). */
const token =
  /\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|[pP]\{[^}]*\}|k<[^>]*>|.)|\[(?:\\.|[^\]\\])*\]|\(\?(?:[:=!]|<[=!]|<[^>]*>)|\{\d+,?\d*\}\??|./gisu
const withoutCharacter = /^(?:[()|^$?*+]|\(\?.+|\{.+|\\[bBk\d].*)$/s
const unbounded = /^(?:[*+]|\{\d+,\}\??)$/

const alphabet = [...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)), ...'\t\n\r\0é\u2028日\ufeff😀']

/** A text of about `characters` characters: a prefix that a pattern nearly matches up to a repetition, many equal units, and an end. */
interface Shape {
  readonly prefix: string
  readonly unit: string
  readonly end: string
}

function textOf({ prefix, unit, end }: Shape, length: number): string {
  return prefix + unit.repeat(Math.ceil(length / unit.length)) + end
}

function shapesFor({ source, flags }: Pattern): Shape[] {
  /** For each character that the pattern expects, in order, the characters that it accepts. */
  const wanted: string[][] = []
  /** The number of characters before each repetition, or up to a character of the repeated part. */
  const before = new Set<number>()
  for (const [text] of source.matchAll(token)) {
    if (unbounded.test(text)) for (const less of [0, 1, 2]) before.add(Math.max(0, wanted.length - less))
    if (withoutCharacter.test(text)) continue
    const one = new RegExp(`^(?:${text})$`, flags.replace(/[gy]/g, ''))
    wanted.push(alphabet.filter((character) => one.test(character)))
  }
  // Without an unbounded repetition, each position of a text takes a bounded time.
  if (before.size === 0) return []
  before.add(0)
  const sample = wanted.map(([first = '']) => first)
  // One representative is enough for characters that the pattern does not distinguish.
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

/** Whether a pattern takes more than linear time. The minimum of several times counts, because other processes can only lengthen them. */
function isSlow(compiled: RegExp, shape: Shape): boolean {
  const leastMs = (length: number): number =>
    Math.min(...Array.from({ length: 3 }, () => msFor(compiled, textOf(shape, length))))
  if (msFor(compiled, textOf(shape, characters)) <= linearMsMax) return false
  const ms = leastMs(characters)
  // A text four times as long takes four times as long in linear time, and sixteen times as long in quadratic time.
  return ms > linearMsMax && ms > 8 * leastMs(characters / 4)
}

const running = new Script('globalThis.interruptible()')

/** A text for which a pattern takes more than linear time, or hangs; undefined if the search finds no such text. */
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

t.test('the search finds patterns that take exponential or quadratic time', (t) => {
  t.ok(slowTextFor(pattern('', '/^\\/([\\w.~-]+\\/?)*$/'), 1000), 'exponential')
  for (const text of ['/\\s*,\\s*/', '/0+$/']) t.ok(slowTextFor(pattern('', text)), text)
  t.end()
})

t.test('every regular expression of the service takes linear time', (t) => {
  const isOfUsers = ({ path }: Source): boolean => /^src\/(client|console)\//.test(path)
  const patterns = sourcesOf('src')
    .filter((source) => !isOfUsers(source))
    .flatMap(patternsOf)
  t.ok(patterns.length > 50, `${patterns.length} patterns were found`)
  for (const pattern of patterns) t.equal(slowTextFor(pattern), undefined, pattern.where)
  t.end()
})
