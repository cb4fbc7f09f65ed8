/** The values of a chart over the kept moments: its lines, their gaps, and the height that the chart needs. */

import type { Moment } from '../../../ops/figures/console-state.js'
import type { Chart, Line } from './charts.js'

/** One for each moment; null is a gap. */
export function valuesOf({ value }: Line, moments: readonly Moment[]): (number | null)[] {
  return moments.map((moment) => value(moment) ?? null)
}

/** The places of values between two gaps, through which no line goes, as between two failed requests. */
export function isolatedIn(values: ArrayLike<number | null | undefined>): number[] {
  const isGap = (index: number): boolean => (values[index] ?? null) === null
  return Array.from(values, (_, index) => index).filter(
    (index) => !isGap(index) && isGap(index - 1) && isGap(index + 1),
  )
}

/** A limit counts once the lines are half way to it, or beyond it. */
export function highest({ lines }: Chart, moments: readonly Moment[]): number {
  const valuesIn = (of: readonly Line[]): number[] =>
    of.flatMap((line) => valuesOf(line, moments)).filter((value) => value !== null)
  const maxIn = (limit: Line['limit']): number => Math.max(0, ...valuesIn(lines.filter((line) => line.limit === limit)))
  const reached = maxIn(undefined)
  const lowest = Math.min(...valuesIn(lines.filter(({ limit }) => limit === undefined)))
  const upper = maxIn('upper')
  const lower = maxIn('lower')
  return Math.max(reached, upper <= 2 * reached ? upper : 0, lowest <= 2 * lower ? lower : 0)
}
