/**
 * Removal policies: the parsed form of a checked REMOVAL expression, and the time at which a topic becomes due.
 *
 * The stores keep topics with a policy in the order of their due times. Pure arithmetic: nothing here parses an
 * expression (parser.ts does), reads a clock, removes a topic or interprets the selector.
 */

export interface RemovalPolicy {
  readonly condition: RemovalCondition
  /** The selector of the remove clause, without quotes and escapes. NOT checked: the caller parses it. */
  readonly selector: string | undefined
}

/** A tree whose leaves depend on time alone. */
export type RemovalCondition =
  | { readonly kind: 'time'; readonly afterMs: number }
  | { readonly kind: 'idle'; readonly idleMs: number; readonly graceMs: number }
  | { readonly kind: 'all' | 'any'; readonly conditions: readonly RemovalCondition[] }

/**
 * The first millisecond of the wall clock at which the condition holds if no other update arrives; possibly in the
 * past. Always finite, because time alone makes each condition true. A later `updatedMs` never makes the result earlier.
 *
 * @param updatedMs the time at which the value was last set; equal to `createdMs` until the first update
 */
export function dueMs({ condition }: Pick<RemovalPolicy, 'condition'>, createdMs: number, updatedMs: number): number {
  switch (condition.kind) {
    case 'time':
      return condition.afterMs + 1
    case 'idle':
      // Without a grace period the creation time must not count: after a clock step it can be far in the future, and
      // the next update has to correct that.
      if (condition.graceMs === 0) return updatedMs + condition.idleMs
      return Math.max(updatedMs, createdMs + condition.graceMs) + condition.idleMs
    case 'all':
      return Math.max(...condition.conditions.map((inner) => dueMs({ condition: inner }, createdMs, updatedMs)))
    case 'any':
      return Math.min(...condition.conditions.map((inner) => dueMs({ condition: inner }, createdMs, updatedMs)))
    default:
      return condition satisfies never
  }
}

/** If false, the due time computed at creation stays valid for the topic's lifetime. */
export function tracksUpdates({ condition }: Pick<RemovalPolicy, 'condition'>): boolean {
  if (condition.kind === 'time') return false
  return condition.kind === 'idle' || condition.conditions.some((inner) => tracksUpdates({ condition: inner }))
}
