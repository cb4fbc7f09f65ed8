/**
 * The linear-time engine, re2js, which only this file imports. Its caveats:
 * - Its lazy automaton may grow to 8 MiB per pattern unless limited. If states keep being dropped and rebuilt,
 *   matching is up to ten times slower than without an automaton.
 * - It rejects a group repeated more than 1,000 times in total.
 * - Only re2js knows the names and ranges of Unicode classes.
 * - The cost of a class grows with its ranges: naming `\pL` 2,000 times takes a second. Callers charge the budget first.
 * - For a pattern that starts with `^`, it tries to build a one-pass machine, in time cubic in the pattern's size. A
 *   leading capturing group prevents that, so every pattern is wrapped in one.
 */
import { RE2JS, RE2JSException } from 're2js'
import { automatonBytesMax } from '../../settings/limits.js'

/** After this many resets a pattern runs without its automaton: rebuilding the states costs more than the automaton saves. */
const automatonResetsMax = 8

/** True if the pattern matches the whole text. */
export type Test = (text: string) => boolean

/** @param tail another pattern, appended to `source` @returns the test, or the reason why the engine rejects the pattern */
export function compileLinear(source: string, tail: string): Test | { readonly refusal: string } {
  try {
    return testOf(RE2JS.compile(`(${source})${tail}`, RE2JS.DOTALL))
  } catch (error) {
    if (error instanceof RE2JSException)
      return { refusal: `the linear-time engine does not accept it (${error.message})` }
    throw error
  }
}

function testOf(engine: RE2JS): Test {
  const automaton = engine.re2().dfa
  automaton.stateBudget = automatonBytesMax
  automaton.memBudget = automatonBytesMax
  let remainingBytes = automatonBytesMax
  let resets = 0
  return (text) => {
    const answer = engine.testExact(text)
    // The budget rises only when all states are dropped. If that keeps happening, running without them is faster.
    if (automaton.memBudget > remainingBytes && ++resets === automatonResetsMax) {
      automaton.clearCache()
      automaton.failed = true
    }
    remainingBytes = automaton.memBudget
    return answer
  }
}

/** The number of ranges of each known class: a few hundred names at most. */
const rangeCounts = new Map<string, number>()

/** The number of code point ranges in a class such as `\pL` or `[[:alpha:]]`; undefined if there is no such class. */
export function countRanges(className: string, foldCase: boolean): number | undefined {
  const source = foldCase ? `(?i)${className}` : className
  const known = rangeCounts.get(source)
  if (known !== undefined) return known
  try {
    const { inst } = RE2JS.compile(source).re2().prog as {
      readonly inst: readonly { readonly runes: ArrayLike<number> }[]
    }
    const count = Math.max(1, ...inst.map(({ runes }) => runes.length / 2))
    rangeCounts.set(source, count)
    return count
  } catch (error) {
    if (error instanceof RE2JSException) return undefined
    throw error
  }
}
