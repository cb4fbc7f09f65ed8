/**
 * Topic properties: which names have an effect, which values those accept, and when a request matches an existing
 * topic.
 *
 * Properties are kept as given, whatever their names. Names such as `__proto__` are valid too, so only own members are
 * ever read. REMOVAL is parsed in removal/parser.ts; the stores apply the properties.
 */
import { strict as assert } from 'node:assert'
import { propertiesBytesMax } from '../settings/limits.js'
import { parseRemoval } from './removal/parser.js'
import type { RemovalPolicy } from './removal/policy.js'
import type { Properties } from './topic.js'

/** Which property is wrong, and why, as a phrase that follows its name in a message. */
interface PropertyProblem {
  readonly name: string
  readonly problem: string
}

/** The defaults of the known properties that have one. REMOVAL has none: no value of it means "never". */
const defaults: ReadonlyMap<string, string> = new Map([
  ['VALIDATE_VALUES', 'false'],
  ['DONT_RETAIN_VALUE', 'false'],
])

/** What the creation of a topic needs from its checked properties. */
export interface CheckedProperties {
  /** Undefined for a topic that is removed on request only. */
  readonly removal: RemovalPolicy | undefined
}

/** The result for most properties, and for none. */
export const noRemoval: CheckedProperties = { removal: undefined }

/**
 * Checks the properties of a request, in their order, and reads REMOVAL on the way, so that it is parsed once.
 *
 * The selector in a REMOVAL expression's remove clause is not checked; the caller does that when it plans the selector.
 *
 * @returns the result, or the first problem, with a name that UTF-8 can encode
 */
export function parseProperties(properties: Properties): CheckedProperties | PropertyProblem {
  let checked = noRemoval
  let bytes = 0
  const names = Object.keys(properties)
  const values = Object.values(properties)
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string
    const value = values[i] as string
    const nameBytes = utf8Bytes(name)
    if (nameBytes === undefined) {
      return { name: name.toWellFormed(), problem: 'has a lone surrogate in its name, which UTF-8 cannot encode' }
    }
    const valueBytes = utf8Bytes(value)
    if (valueBytes === undefined) return { name, problem: 'contains a lone surrogate, which UTF-8 cannot encode' }
    bytes += nameBytes + valueBytes
    if (bytes > propertiesBytesMax) {
      return {
        name,
        problem: `makes all names and values together longer than the ${propertiesBytesMax} bytes of UTF-8 allowed`,
      }
    }
    if (name === 'REMOVAL') {
      const removal = parseRemoval(value)
      if ('problem' in removal) return { name, problem: removal.problem }
      checked = { removal }
    } else if (defaults.has(name) && value !== 'true' && value !== 'false') {
      return { name, problem: 'must be "true" or "false"' }
    }
  }
  return checked
}

/** The bytes of a text in UTF-8; undefined if it has a lone surrogate. Most are so short that a native call takes longer. */
function utf8Bytes(text: string): number | undefined {
  let bytes = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) bytes++
    else if (unit < 0x800) bytes += 2
    else if (unit < 0xd800 || unit > 0xdfff) bytes += 3
    else {
      const pair = text.codePointAt(i++) as number
      if (pair <= 0xffff) return undefined
      bytes += 4
    }
  }
  return bytes
}

/**
 * Whether a topic with the `existing` properties satisfies a request to create it with the `requested` ones; both are
 * checked already. Every property that the request names must have exactly the topic's value, where an absent one
 * counts as its default. Properties that the request does not name are not compared. A REMOVAL that the topic lacks, or
 * words differently, is therefore incompatible.
 */
export function compatible(existing: Properties, requested: Properties): boolean {
  return Object.entries(requested).every(([name, value]) => (own(existing, name) ?? defaults.get(name)) === value)
}

/** Whether a topic with these checked properties keeps the values that are set on it. */
export function retainsValue(properties: Properties): boolean {
  return own(properties, 'DONT_RETAIN_VALUE') !== 'true'
}

/** The removal policy among checked properties, parsed again; undefined for a topic that is removed only on request. */
export function removalOf(properties: Properties): RemovalPolicy | undefined {
  const text = own(properties, 'REMOVAL')
  if (text === undefined) return undefined
  // A topic of an earlier version may have any number of parentheses.
  const policy = parseRemoval(text, Infinity)
  assert(!('problem' in policy), 'properties are checked before they are used')
  return policy
}

function own(properties: Properties, name: string): string | undefined {
  return Object.hasOwn(properties, name) ? properties[name] : undefined
}
