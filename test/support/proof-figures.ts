/**
 * Figures of a long test, which one run prints and `npm run prove` adds up over many. A figure is added to that of the
 * same name; of one whose name ends in `Max`, the largest counts.
 */
import type { Test } from 'tap'

export type Figures = Readonly<Record<string, number>>

const mark = 'FIGURES '

/** Prints the figures in the test's output. */
export function reportFigures(t: Pick<Test, 'comment'>, figures: Figures): void {
  t.comment(mark + JSON.stringify(figures))
}

/** All figures that a run printed, together. */
export function figuresIn(output: string): Figures {
  const printed = [...output.matchAll(new RegExp(`^ *# ${mark}(\\{.*\\})$`, 'gm'))]
  return together(printed.map(([, json = '{}']) => JSON.parse(json) as Figures))
}

export function together(all: readonly Figures[]): Figures {
  const sums: Record<string, number> = {}
  for (const figures of all) {
    for (const [name, figure] of Object.entries(figures)) {
      const sum = sums[name]
      if (sum === undefined) sums[name] = figure
      else sums[name] = name.endsWith('Max') ? Math.max(sum, figure) : sum + figure
    }
  }
  return sums
}
