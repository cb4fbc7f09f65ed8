/** The forms of an item: properties and version are inserted into the stored item, or its value is left out. Pure. */

import { bareItem, headBytes, propertiesMember } from '../../../topics/item.js'
import type { Path } from '../../../topics/path.js'
import type { TopicType } from '../../../topics/topic.js'
import { versionMembers } from '../../../topics/version.js'
import type { StoredTopic, Wanted } from '../../engine.js'
import { type ItemForm, isStoredForm } from '../../topics.js'

export function wantedFor(form: ItemForm): Wanted {
  return { head: form.properties, item: form.values, version: form.versions }
}

export function typeOfForm({ type }: ItemForm): TopicType | undefined {
  return type === 'any' ? undefined : type
}

/** The type of all topics in this form, if its items show only path and type, so that the paths are enough to build them. */
export function bareTypeOf({ type, values, properties, versions }: ItemForm): TopicType | undefined {
  return type === 'any' || values || properties || versions ? undefined : type
}

/**
 * Shows the topic in this form; the parts that the form needs must have been read. Undefined if the form needs the item, but it is lost.
 *
 * @throws UnreadableTopic
 */
export function itemIn(form: ItemForm, path: Path, topic: StoredTopic): Uint8Array | undefined {
  const { type, item, version } = topic
  if ((form.values && item === undefined) || (form.versions && version === 0)) return undefined
  if (item !== undefined && isStoredForm(form)) return item
  let shown = item ?? Buffer.from(bareItem(path, type))
  if (form.versions) {
    const head = headBytes(path, type)
    shown = Buffer.concat([shown.subarray(0, head), Buffer.from(versionMembers(version)), shown.subarray(head)])
  }
  if (!form.properties) return shown
  const properties = JSON.stringify(topic.head()?.properties ?? {})
  return Buffer.concat([shown.subarray(0, shown.length - 1), Buffer.from(propertiesMember(properties))])
}
