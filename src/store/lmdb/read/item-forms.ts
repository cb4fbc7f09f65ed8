/**
 * Items in other forms than the stored one: with properties or versions, without values. What such an item shows is
 * read from several databases, topic by topic. Which topics are read is decided in reads.ts.
 */
import type { Path } from '../../../topics/path.js'
import { bareItem, headBytes, propertiesMember, type TopicType } from '../../../topics/topic.js'
import { versionMembers } from '../../../topics/version.js'
import type { ItemForm } from '../../topics.js'
import type { Environment } from '../environment/environment.js'
import { versionOfLastRead } from '../environment/versions.js'
import { readSpecification, readType } from './specification.js'

/** The item of a topic of the form's type, in this form; undefined without one. Valid until the next read. */
export function readInForm(environment: Environment, path: Path, form: ItemForm): Buffer | undefined {
  const { specifications } = environment
  // lmdb may use the same buffer for every record, so the item is read last.
  const details = form.properties ? readSpecification(specifications, path)?.details : undefined
  const type = form.type === 'any' ? readType(specifications, path) : form.type
  if (type === undefined) return undefined
  const item =
    form.versions || form.values ? storedItem(environment, path, type, form) : Buffer.from(bareItem(path, type))
  if (item === undefined || !form.properties) return item
  const head = new Uint8Array(item.buffer, item.byteOffset, item.length - 1)
  return Buffer.concat([head, Buffer.from(propertiesMember(JSON.stringify(details?.properties ?? {})))])
}

/** The stored item, with the version or without the value if the form says so. */
function storedItem(
  { items, conversionVersion }: Environment,
  path: Path,
  type: TopicType,
  { values, versions }: ItemForm,
): Buffer | undefined {
  const item = items[type].getBinaryFast(path)
  if (item === undefined || !versions) return item
  const members = Buffer.from(versionMembers(versionOfLastRead(conversionVersion)))
  const head = headBytes(path, type)
  return Buffer.concat([item.subarray(0, head), members, item.subarray(values ? head : item.length - 1)])
}
