/** The member `constraint` of a write, from its text to a `Constraint` or a `Problem`. */
import type { Constraint } from '../topics/constraint.js'
import type { ConstraintBody } from './bodies.js'
import { repeatedName } from './members.js'
import { type ParsedMembers, versionProblem } from './parse-body.js'
import { type Problem, problem } from './problems.js'

/**
 * Checks a constraint that the validator has accepted: one member, given once.
 *
 * @param parsed where it is; the constraint's value is a view into that text where possible
 * @returns undefined where there is none
 */
export function parseConstraint(
  parsed: ParsedMembers | undefined,
  body: ConstraintBody | undefined,
): Constraint | Problem | undefined {
  if (parsed === undefined || body === undefined) return undefined
  const { bytes, members } = parsed
  const names = Object.keys(body)
  if (members.count !== names.length) {
    return problem('duplicate_parameter', { name: `constraint.${repeatedName(bytes, members.start) ?? ''}` })
  }
  if (names.length !== 1) {
    return problem('invalid_parameter', {
      name: 'constraint',
      found: `an object with ${names.length} members`,
      allowed: 'exactly one of "value", "version", "no_value" and "no_topic"',
    })
  }
  if (members.value !== undefined) return { kind: 'value', text: members.value }
  if (members.version !== undefined) return versionConstraint(members.version)
  return body.no_topic === true ? { kind: 'no_topic' } : { kind: 'no_value' }
}

/** Digits without a fraction, an exponent or a sign: a version is compared with what a fetch has shown, not computed. */
const digits = /^(?:0|[1-9]\d{0,15})$/

/** @param text of a number that the validator has accepted, which may have been rounded to it */
function versionConstraint(text: Uint8Array): Constraint | Problem {
  const number = Buffer.from(text).toString('latin1')
  const version = Number(number)
  return digits.test(number) && Number.isSafeInteger(version) ? { kind: 'version', version } : versionProblem(text)
}
