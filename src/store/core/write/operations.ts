/** Operations that wait for their commit: all data of the request is copied, and the item is built around the value. */
import { numberTextMax } from '../../../topics/decimal.js'
import { encodeItem, valueOfItem } from '../../../topics/item.js'
import type { Path } from '../../../topics/path.js'
import type { Properties, TopicType } from '../../../topics/topic.js'
import type { ItemBytes, WriteSize } from '../../engine.js'
import { loggedBytesMax } from '../../logged-keys.js'
import type { WriteAction, WriteOperation } from '../../topics.js'

export const noProperties: Properties = {}

/** A removal has no item. */
export type Prepared = WriteAction & { readonly item: ItemBytes | undefined }

/** Copies every part of an operation that is a view into the request. */
export function prepare(operation: WriteOperation): Prepared {
  const { kind, path, type, properties, removal, valueText, constraint, wantsVersion } = operation
  const item = type && newItem(path, type, valueText)
  const copied = constraint?.kind === 'value' ? { ...constraint, text: Buffer.from(constraint.text) } : constraint
  return { kind, path, type, properties, removal, constraint: copied, wantsVersion, item } as Prepared
}

/** Builds the item in its own buffer. */
export function newItem(path: Path, type: TopicType, valueText: Uint8Array | undefined): ItemBytes {
  const bytes = encodeItem(path, type, valueText)
  return { bytes, start: 0, end: bytes.length }
}

/** A view of the value that the operation sets. */
export function valueTextOf({ path, type, item }: Prepared): Uint8Array | undefined {
  return type && item && valueOfItem(item.bytes.subarray(item.start, item.end), path, type)
}

/** The maximum that operations may add to the store. */
export function sizeOf(operations: readonly Prepared[]): WriteSize {
  let bytes = 0
  let grows = false
  for (const { kind, path, item, properties } of operations) {
    bytes += loggedBytesMax(path)
    if (item === undefined) continue
    bytes += item.end - item.start + propertiesBytes(properties)
    if (kind === 'increment') bytes += numberTextMax
    grows = true
  }
  return { operations: operations.length, bytes, grows }
}

/** Excludes the times that are stored with the properties. */
function propertiesBytes(properties = noProperties): number {
  return Object.keys(properties).length === 0 ? 0 : Buffer.byteLength(JSON.stringify(properties))
}
