/**
 * Results of a long test, which one run prints and `npm run prove` sums over many runs. Figures of the same name are added; if the name
 * ends in `Max`, the largest counts.
 */
import type { Test } from 'tap'

export type Results = Readonly<Record<string, number>>

const mark = 'FIGURES '

/** Prints the figures in the test's output. */
export function reportResults(t: Pick<Test, 'comment'>, results: Results): void {
  t.comment(mark + JSON.stringify(results))
}

/** Results of one state, rounded to a tenth, under names whose largest value counts. */
export function prefixed(when: string, state: object): Record<string, number> {
  return Object.fromEntries(
    Object.entries(state).map(([name, figure]) => [`${when}.${name}.Max`, Math.round(figure * 10) / 10]),
  )
}

/** All figures that a run printed, combined. */
export function resultsIn(output: string): Results {
  const printed = [...output.matchAll(new RegExp(`^ *# ${mark}(\\{.*\\})$`, 'gm'))]
  return together(printed.map(([, json = '{}']) => JSON.parse(json) as Results))
}

export function together(all: readonly Results[]): Results {
  const sums: Record<string, number> = {}
  for (const results of all) {
    for (const [name, figure] of Object.entries(results)) {
      const sum = sums[name]
      if (sum === undefined) sums[name] = figure
      else sums[name] = name.endsWith('Max') ? Math.max(sum, figure) : sum + figure
    }
  }
  return sums
}
