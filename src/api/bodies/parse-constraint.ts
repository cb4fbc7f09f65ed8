/** The member `constraint` of a write, as it was read, to a `Constraint` or a `Problem`. */
import type { Constraint } from '../../topics/constraint.js'
import { type Problem, problem } from '../problems.js'
import type { ConstraintBody } from './bodies.js'
import type { Read } from './read-object.js'

/** @returns the constraint, which has one member; its value is a view into the body where possible */
export function parseConstraint(constraint: Read<ConstraintBody> | undefined): Constraint | Problem | undefined {
  if (constraint === undefined) return undefined
  const names = Object.keys(constraint)
  if (names.length !== 1) {
    return problem('invalid_parameter', {
      name: 'constraint',
      found: `an object with ${names.length} members`,
      allowed: 'exactly one of "value", "version", "no_value" and "no_topic"',
    })
  }
  const { value, version, no_topic: noTopic } = constraint
  if (value !== undefined) return { kind: 'value', text: value }
  if (version !== undefined) return { kind: 'version', version }
  return noTopic ? { kind: 'no_topic' } : { kind: 'no_value' }
}
