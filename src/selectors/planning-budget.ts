/**
 * Limits the cost of planning: one budget for all selectors of a request, in units that are charged before the work is
 * done. The budget never looks at a clock, so the same request always gets the same response.
 *
 * A unit is about 0.1 µs on a modern core. The costs below were measured for the most expensive cases found, in a
 * process that had just warmed up; `test/selectors/planning-cost` compares them with the time that planning takes.
 */
import { planningUnitsMax } from '../settings/limits.js'

/** A UTF-16 unit of a selector's text. */
export const textUnitCost = 2

/** A selector, or a member of a set. */
export const memberCost = 20

/** A pattern: one for a full path, or one for each segment. */
export const patternCost = 30

/** A character, a range or a class of a few ranges within brackets. */
export const classMemberCost = 10

/** A range of a Unicode class: each time the class is named, the engine appends and sorts all ranges of the class. */
export const namedRangeCost = 8

/** A range of a Unicode class with case folding: two tables are sorted first. */
export const foldedRangeCost = 16

/** The engine looks at each code point and sorts the code points that differ only in case: at most a few thousand per range. */
export function foldedCodePointsCost(codePoints: number): number {
  return Math.min(6 * codePoints, 2 * codePoints + 8000)
}

/** A small class such as `\W` with case folding. */
export const foldedClassCost = 250

/** An instruction of the linear-time engine. */
export const instructionCost = 60

/** Ranges per unit, counted over all instructions with repetitions expanded. */
export const instructionRangesPerUnit = 4

/** A dot, or a class that includes U+10FFFF, in the built-in engine, which tests surrogates separately. */
export const wideClassCost = 900

/** A literal prefix, each time it is extended. */
export const prefixCost = 2

/** A key range of a plan: its two keys, and its place among the others. */
export const keyRangeCost = 50

export class TooCostly extends Error {}

export class PlanningBudget {
  #remaining = planningUnitsMax

  get remaining(): number {
    return this.#remaining
  }

  /** True until the first charge. */
  get isWhole(): boolean {
    return this.#remaining === planningUnitsMax
  }

  /** @param where the part of the selector, as a phrase @throws TooCostly if fewer units are left */
  charge(units: number, where: string): void {
    if (units > this.#remaining) throw new TooCostly(where)
    this.#remaining -= units
  }

  /** Charges for a cached plan, whose work was done for an earlier request. @returns whether enough units were left */
  tryCharge(units: number): boolean {
    if (units > this.#remaining) return false
    this.#remaining -= units
    return true
  }
}
