/**
 * The linear-time engine. The only file that imports re2js. Its caveats:
 * - Its lazy automaton may grow to 8 MiB per pattern unless limited, and is up to ten times slower than no automaton
 *   where states keep being dropped and rebuilt.
 * - It refuses a group repeated more than 1,000 times in all.
 * - Only it knows the names and ranges of Unicode classes.
 * - A class costs what it contains: naming `\pL` 2,000 times takes a second. Callers charge the budget before compiling.
 * - For a pattern that begins with `^`, it tries to build a machine without choices, in time that grows with the cube of
 *   the pattern's size. It does not where a capturing group comes first, so one is put around every pattern.
 */
import { RE2JS, RE2JSException } from 're2js'
import { automatonBytesMax } from '../../settings/limits.js'

/** After this many resets a pattern runs without its automaton: rebuilding the states costs more than it saves. */
const automatonResetsMax = 8

/** True if the pattern matches the whole text. */
export type Test = (text: string) => boolean

/** @param tail another pattern, which follows @returns the test, or why the engine refuses it */
export function compileLinear(source: string, tail: string): Test | { readonly refusal: string } {
  try {
    return testOf(RE2JS.compile(`(${source})${tail}`, RE2JS.DOTALL))
  } catch (error) {
    if (error instanceof RE2JSException) return { refusal: `the linear-time engine refuses it (${error.message})` }
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
    // The budget rises only when all states are dropped. Where that keeps happening, running without them is faster.
    if (automaton.memBudget > remainingBytes && ++resets === automatonResetsMax) {
      automaton.clearCache()
      automaton.failed = true
    }
    remainingBytes = automaton.memBudget
    return answer
  }
}

/** How many ranges each known class has: a few hundred names at most. */
const rangeCounts = new Map<string, number>()

/** How many ranges of code points a class such as `\pL` or `[[:alpha:]]` has; undefined if there is no such class. */
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
