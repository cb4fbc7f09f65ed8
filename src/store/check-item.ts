/**
 * What `check` requires of a stored fetch result item, whatever engine stores it. Pure; where items are and who else must
 * agree with them is each engine's own part.
 */
import type { TopicType } from '../topics/topic.js'

/** What is wrong with the item of the topic at `path`, as the end of a sentence; undefined when it is sound. */
export function itemProblem(path: string, type: TopicType, item: string): string | undefined {
  const parsed = parseObject(item)
  if (parsed === undefined) return 'it is not valid JSON'
  if (parsed.path !== path || parsed.type !== type) return 'its JSON belongs to another topic'
  if (type === 'string' && 'value' in parsed && typeof parsed.value !== 'string') return 'its value is not a string'
  const unknown = Object.keys(parsed).find((name) => name !== 'path' && name !== 'type' && name !== 'value')
  return unknown === undefined ? undefined : `it has an unknown member "${unknown}"`
}

/** The object that a stored JSON text is; undefined for any other text. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
