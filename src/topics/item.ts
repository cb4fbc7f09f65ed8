/**
 * The only serialised form of a topic: the fetch result item.
 *
 * The item is built once, around the value's JSON text, when the value is written. Fetches copy its bytes:
 * nothing is parsed or serialised again, so nothing can be rounded, reordered or dropped.
 */
import { writeText } from '../base/text.js'
import { closeBrace } from '../json/bytes.js'
import { JsonReader } from '../json/reader.js'
import { quoted, writeQuoted } from '../json/strings.js'
import type { Path } from './path.js'
import type { TopicType } from './topic.js'

const valueMember = ',"value":'
const letterS = 0x73

/** Bytes of member names, quotes and braces. */
const itemOverheadMax = 64

/** `{"path":…,"type":…,"value":…}` in UTF-8; `value` only if the topic has one. @param valueText JSON, UTF-8; copied */
export function encodeItem(path: Path, type: TopicType, valueText: Uint8Array | undefined): Buffer {
  const item = Buffer.allocUnsafe(itemBytesMax(path, valueText))
  return item.subarray(0, writeItem(item, 0, path, type, valueText))
}

/** Upper bound on the bytes of an item: JSON writes a UTF-16 unit in at most six bytes. */
export function itemBytesMax(path: Path, valueText: Uint8Array | undefined): number {
  return 6 * path.length + itemOverheadMax + (valueText?.length ?? 0)
}

/** `target` must have room for the item as `encodeItem` builds it. @returns the position after the item */
export function writeItem(
  target: Buffer,
  start: number,
  path: Path,
  type: TopicType,
  valueText: Uint8Array | undefined,
): number {
  let end = writeText(target, start, '{"path":')
  end = writeQuoted(target, end, path)
  end = writeText(target, end, type === 'json' ? ',"type":"json"' : ',"type":"string"')
  if (valueText !== undefined) {
    end = writeText(target, end, valueMember)
    target.set(valueText, end)
    end += valueText.length
  }
  target[end] = closeBrace
  return end + 1
}

/** The item of a topic as text, without its value. */
export function bareItem(path: Path, type: TopicType): string {
  return `{"path":${quoted(path)},"type":"${type}"}`
}

/** The end of an item that shows properties, in place of its closing brace. */
export function propertiesMember(propertiesText: string): string {
  return `,"properties":${propertiesText}}`
}

/** The number of bytes before the member `value` in an item: path and type. */
export function headBytes(path: Path, type: TopicType): number {
  return Buffer.byteLength(bareItem(path, type)) - 1
}

/** Accepts items of every form, because each starts with its path. */
export function pathOfItem(item: Buffer): Path {
  const reader = new JsonReader(item, Infinity)
  reader.enterObject()
  return reader.value() as Path
}

/** The type in an item built by `encodeItem`. */
export function typeOfItem(item: Uint8Array, path: Path): TopicType {
  const at = Buffer.byteLength(`{"path":${quoted(path)},"type":"`)
  return item[at] === letterS ? 'string' : 'json'
}

/** The value's JSON text in an item built by `encodeItem`, as a view; undefined if the item has no value. */
export function valueOfItem(item: Uint8Array, path: Path, type: TopicType): Uint8Array | undefined {
  const head = headBytes(path, type)
  if (item.length === head + 1) return undefined
  return item.subarray(head + valueMember.length, item.length - 1)
}
