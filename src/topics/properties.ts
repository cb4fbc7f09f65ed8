/**
 * Topic properties: the names that have an effect, the values that these accept, and the comparison of a request's
 * properties with an existing topic's.
 *
 * Properties with any name are kept as given. Because names such as `__proto__` are valid, only own members are ever
 * read. REMOVAL is parsed in removal/parser.ts; the stores apply the properties.
 */
import { strict as assert } from 'node:assert'
import { propertiesBytesMax } from '../settings/limits.js'
import { parseRemoval } from './removal/parser.js'
import type { RemovalPolicy } from './removal/policy.js'
import type { Properties } from './topic.js'

/** The name of the invalid property, and the reason as a phrase that follows the name in a message. */
interface PropertyProblem {
  readonly name: string
  readonly problem: string
}

/** REMOVAL has no default: it has no value that means "never". */
const defaults: ReadonlyMap<string, string> = new Map([
  ['VALIDATE_VALUES', 'false'],
  ['DONT_RETAIN_VALUE', 'false'],
])

/**
 * Returns the first problem; UTF-8 can encode its `name`. The caller checks the selector in REMOVAL when planning it.
 *
 * @returns the policy of REMOVAL, undefined for a topic that is removed only on request; or the problem
 */
export function parseProperties(properties: Properties): RemovalPolicy | PropertyProblem | undefined {
  let policy: RemovalPolicy | undefined
  let bytes = 0
  for (const [name, value] of Object.entries(properties)) {
    if (!name.isWellFormed()) {
      return { name: name.toWellFormed(), problem: 'has a lone surrogate in its name, which UTF-8 cannot encode' }
    }
    if (!value.isWellFormed()) return { name, problem: 'contains a lone surrogate, which UTF-8 cannot encode' }
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value)
    if (bytes > propertiesBytesMax) {
      return {
        name,
        problem: `exceeds the limit of ${propertiesBytesMax} bytes of UTF-8 for all names and values together`,
      }
    }
    if (name === 'REMOVAL') {
      const removal = parseRemoval(value)
      if ('problem' in removal) return { name, problem: removal.problem }
      policy = removal
    } else if (defaults.has(name) && value !== 'true' && value !== 'false') {
      return { name, problem: 'must be "true" or "false"' }
    }
  }
  return policy
}

/**
 * Compares only the properties that the request names; a property that the topic does not have counts as having its default.
 * A REMOVAL that the topic does not have, or has in another wording, is therefore incompatible. Both sides have been checked.
 */
export function compatible(existing: Properties, requested: Properties): boolean {
  return Object.entries(requested).every(([name, value]) => (own(existing, name) ?? defaults.get(name)) === value)
}

export function retainsValue(properties: Properties): boolean {
  return own(properties, 'DONT_RETAIN_VALUE') !== 'true'
}

/** Parses REMOVAL again; undefined for a topic that is removed only on request. */
export function removalOf(properties: Properties): RemovalPolicy | undefined {
  const text = own(properties, 'REMOVAL')
  if (text === undefined) return undefined
  // The REMOVAL of a topic stored by an earlier version may have any number of parentheses.
  const policy = parseRemoval(text, Infinity)
  assert(!('problem' in policy), 'properties are checked before they are used')
  return policy
}

function own(properties: Properties, name: string): string | undefined {
  return Object.hasOwn(properties, name) ? properties[name] : undefined
}
