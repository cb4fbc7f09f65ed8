/**
 * Patterns designed to stall a worker: they are planned quickly, and a scan with them takes a bounded multiple of a plain scan
 * of the same topics in the same run. A plan is limited to a multiple of a yardstick's CPU time; other single calls have limits
 * of CPU time.
 */

import t from 'tap'
import type { Test } from '../../dist/selectors/pattern/engine.js'
import { harmlessExpression, linearTest, type Pattern, readPattern } from '../../dist/selectors/pattern/pattern.js'
import type { Matcher } from '../../dist/selectors/plan.js'
import { planSelector } from '../../dist/selectors/planner.js'
import { PlanningBudget } from '../../dist/selectors/planning-budget.js'
import { encodeKey } from '../../dist/topics/key.js'
import { endlessSlice } from '../support/slices.js'
import { planned } from '../support/stores/store.js'

/** Parses a valid pattern. */
function patternOf(text: string): Pattern {
  const read = readPattern(text, { remainingSize: 8192, planning: new PlanningBudget() })
  if ('problem' in read) throw new Error(`${text}: ${read.problem}`)
  return read
}

function linearOf(text: string): Test {
  const test = linearTest(patternOf(text))
  if ('refusal' in test) throw new Error(`${text}: ${test.refusal}`)
  return test
}

/** The best of three scans, in ms of CPU. As in a store, each key becomes a string before the matcher is called. */
function scanMs(paths: readonly string[], matcher: Matcher): number {
  const keys = paths.map(encodeKey)
  const scan = (): void => {
    for (const key of keys) matcher(key.toString('latin1'), endlessSlice)
  }
  return Math.min(...Array.from({ length: 3 }, () => cpuMs(scan)))
}

function matcherOf(selector: string): Matcher {
  return planned(selector).matcher ?? (() => true)
}

const many = Array.from(
  { length: 20_000 },
  (_, i) => `${'a'.repeat(28)}${'x'.repeat(i % 16)}${i % 3 === 0 ? 'c' : 'b'}`,
)

t.test('patterns that stall a backtracking engine take a bounded multiple of the time of a plain scan', async (t) => {
  const plain = scanMs(many, matcherOf('?.*//'))
  const evil = ['(a+)+$', '(a|aa)+b', '(x+x+)+y', 'a*(x+x+)+y', '(.*)*z', '(.+.+)+y', '([a-x]+)*z', '(a|a?)+z']
  evil.push('(.*)*(.*)*(.*)*z', '.*.*.*.*.*.*z')
  for (const pattern of evil) {
    for (const selector of [`?${pattern}`, `*${pattern}//`]) {
      const ms = scanMs(many, matcherOf(selector))
      // A plain scan costs about 0.1 µs per topic here; backtracking would take seconds per topic.
      t.ok(ms < 50 * plain + 50, `${selector}: ${ms.toFixed(1)} ms, a plain scan ${plain.toFixed(1)} ms`)
    }
  }
})

/** CPU time in ms: unlike elapsed time, it does not depend on other processes. */
function cpuMs(work: () => void): number {
  const start = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}

const numbers = JSON.stringify(Array.from({ length: 50_000 }, (_, i) => i / 7))

/** The CPU time of work unrelated to selectors: the current speed of this machine. */
function yardstickMs(): number {
  return Math.min(...Array.from({ length: 3 }, () => cpuMs(() => JSON.parse(numbers))))
}

/** The maximum cost of a plan, in yardsticks: a fifth of that was measured, and an explosion would take minutes. */
const yardsticksMax = 200

t.test('testing any pattern on the longest path takes less than a second', async (t) => {
  for (const pattern of ['(a+)+$', '(a|aa)+c', '(a|b)*a(a|b){300}', '((a?){20}){15}c', '(.*a){300}', '(.*b.*){100}c']) {
    const test = linearOf(pattern)
    for (const path of ['a'.repeat(1978), 'ab'.repeat(989), 'aab'.repeat(659)]) {
      const ms = cpuMs(() => test(path))
      // Backtracking would practically never finish.
      t.ok(ms < 1000, `${pattern} on ${path.slice(0, 4)}…: ${ms.toFixed(2)} ms`)
    }
  }
})

t.test('the built-in engine is not used for patterns that could match a string in two ways', async (t) => {
  const used = (pattern: string) => harmlessExpression(patternOf(pattern)) !== undefined
  const single = ['a.b', 'a*', '[a-z]+\\d', '.*temp', '.*temp.*', 'a{2,5}b.+', '\\Qa+\\E.', 'a{3}b{2}c?', '(a)b+']
  for (const pattern of single) t.ok(used(pattern), pattern)
  const others = ['(a+)+', '(a|aa)+b', 'a*a*', '.*a.*b', 'a?b?', 'a+b{1,2}', '(ab)c', 'a|b', '(?i)a', '\\ba', '\\pL']
  others.push('[[:alpha:]]')
  for (const pattern of others) t.notOk(used(pattern), pattern)
})

t.test('the worst case of the built-in engine is fast on the longest path', async (t) => {
  const path = 'a'.repeat(1978)
  const run = 'a'.repeat(900)
  for (const pattern of [`a*${run}b`, `.*${run}b.*`, '.*b.*', '[a-c]*b', `a{1,900}${run}b`]) {
    const harmless = harmlessExpression(patternOf(pattern))
    if (harmless === undefined) throw new Error(`${pattern} is not harmless`)
    t.notOk(harmless.test(path))
    const ms = cpuMs(() => harmless.test(path))
    const allowedMs = 20 * yardstickMs()
    t.ok(ms < allowedMs, `${pattern.slice(0, 20)}: ${ms.toFixed(2)} of ${allowedMs.toFixed()} ms`)
  }
})

t.test('selectors that could expand exponentially cost little to plan or to reject', async (t) => {
  const explosive = [
    '((a{1000}){1000}){1000}',
    '[\\pL\\pN]{1000}.',
    '(?i:[\\pL\\pN]{500}).',
    '\\pL'.repeat(1190),
    '(ab|cd)?'.repeat(1000),
    '('.repeat(8000),
    `${'('.repeat(4000)}${')'.repeat(4000)}`,
    '['.repeat(8000),
    '[ab]'.repeat(2000),
    'a{1000}'.repeat(1000),
    '\\Q'.repeat(4000),
    '|'.repeat(8000),
  ]
  const selectors = explosive.flatMap((pattern) => [`?${pattern}`, `*${pattern}`, `?${pattern}/x//`])
  selectors.push(`#${'*a.b////'.repeat(1000)}a`, `#${'a////'.repeat(1600)}a`, `#${'?a//////'.repeat(900)}b`)
  selectors.push(`?${'[ab]{6}x{600}/'.repeat(13)}a`, '#'.repeat(8192), '/'.repeat(8192))
  for (const selector of selectors) {
    const allowedMs = yardsticksMax * yardstickMs()
    const ms = cpuMs(() => planSelector(selector))
    t.ok(ms < allowedMs, `${selector.slice(0, 20)}…: ${ms.toFixed(1)} of ${allowedMs.toFixed()} ms`)
  }
})

t.test('a pattern whose automaton keeps overflowing runs without it, with the same results', async (t) => {
  const test = linearOf('(a|b)*a(a|b){12}')
  let bits = 1
  for (let i = 0; i < 3000; i++) {
    let text = ''
    for (let j = 0; j < 60; j++) {
      bits = (Math.imul(bits, 1103515245) + 12345) >>> 0
      text += (bits >>> 16) % 2 === 0 ? 'a' : 'b'
    }
    if (test(text) !== (text.at(-13) === 'a')) return void t.fail(text)
  }
  t.pass('3000 texts')
})
