/**
 * What `check` requires of the records that every engine stores alike: fetch result items and API keys. Pure. Which
 * other records must agree with them is checked in check.ts and log.ts.
 */
import { type CheckedProperties, parseProperties } from '../../../topics/properties.js'
import type { RemovalPolicy } from '../../../topics/removal/policy.js'
import type { Properties, TopicType } from '../../../topics/topic.js'
import type { PlanOf } from '../../due-removals.js'
import { readKeyRecord } from '../key-records.js'

/** What is wrong with the item of the topic at `path`, as the end of a sentence; undefined when it is sound. */
export function itemProblem(path: string, type: TopicType, item: string): string | undefined {
  const parsed = parseObject(item)
  if (parsed === undefined) return 'it is not valid JSON'
  if (parsed.path !== path || parsed.type !== type) return 'its JSON belongs to another topic'
  if (type === 'string' && 'value' in parsed && typeof parsed.value !== 'string') return 'its value is not a string'
  const unknown = Object.keys(parsed).find((name) => name !== 'path' && name !== 'type' && name !== 'value')
  return unknown === undefined ? undefined : `it has an unknown member "${unknown}"`
}

/**
 * What is wrong with the record of the API key with this name, as the end of a sentence; undefined when it is sound.
 */
export function keyRecordProblem(name: string, record: string): string | undefined {
  const read = readKeyRecord(name, record)
  return typeof read === 'string' ? read : undefined
}

/** The policy among a topic's properties, if any; or what is wrong with them, as the end of a sentence. @param read may throw */
export function checkProperties(
  read: () => Properties,
): (CheckedProperties & { readonly properties: Properties }) | string {
  try {
    const properties = read()
    const checked = parseProperties(properties)
    return 'problem' in checked ? `its property ${checked.name} ${checked.problem}` : { ...checked, properties }
  } catch {
    return 'its properties cannot be read'
  }
}

/** What is wrong with the times of a topic that has a policy, as the end of a sentence. @param dueMs throws if one is no time */
export function timesProblem(dueMs: () => number): string | undefined {
  try {
    dueMs()
    return undefined
  } catch {
    return 'the time of its creation or its last update cannot be read'
  }
}

/**
 * Why a policy's remove clause removes nothing, as the end of a sentence; undefined when it can be carried out. An
 * earlier version may have stored a selector that is refused today.
 */
export function clauseProblem({ selector }: RemovalPolicy, planOf: PlanOf): string | undefined {
  if (selector === undefined) return undefined
  const plan = planOf(selector)
  if (!('problem' in plan)) return undefined
  return `the remove clause of its REMOVAL removes nothing, since its selector ${plan.problem}; remove the topic, and add it with another`
}

/** Parses a JSON text; undefined if it is not valid, or not an object. */
function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
