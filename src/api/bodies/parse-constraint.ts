/** The member `constraint` of a write, from its text to a `Constraint` or a `Problem`. */
import type { Constraint } from '../../topics/constraint.js'
import { type Problem, problem } from '../problems.js'
import type { BodyObject } from './body-object.js'
import { versionProblem } from './parse-body.js'

/**
 * Checks a constraint that the validator has accepted: one member, given once. Its value is a view into the body where
 * possible.
 *
 * @returns undefined where there is none
 */
export function parseConstraint(constraint: BodyObject | undefined): Constraint | Problem | undefined {
  if (constraint === undefined) return undefined
  const { input, repeated, valueText, numberTexts } = constraint
  if (repeated !== undefined) return problem('duplicate_parameter', { name: `constraint.${repeated}` })
  const names = Object.keys(input)
  if (names.length !== 1) {
    return problem('invalid_parameter', {
      name: 'constraint',
      found: `an object with ${names.length} members`,
      allowed: 'exactly one of "value", "version", "no_value" and "no_topic"',
    })
  }
  if (valueText !== undefined) return { kind: 'value', text: valueText }
  if (typeof input.version === 'number') return versionConstraint(numberTexts?.get('version') ?? String(input.version))
  return input.no_topic === true ? { kind: 'no_topic' } : { kind: 'no_value' }
}

/** Digits without a fraction, an exponent or a sign: a version is compared with what a fetch has shown, not computed. */
const digits = /^(?:0|[1-9]\d{0,15})$/

/** @param text of a number that the validator has accepted, which may have been rounded to it */
function versionConstraint(text: string): Constraint | Problem {
  const version = Number(text)
  return digits.test(text) && Number.isSafeInteger(version) ? { kind: 'version', version } : versionProblem(text)
}
