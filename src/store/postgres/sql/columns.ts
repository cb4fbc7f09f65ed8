/**
 * Values as parameters and as columns of results. Each column of the rows that a statement processes is one array parameter. Bytes
 * and strings are sent in the protocol's binary form, because its text form would double every byte and be parsed again. Numbers
 * are sent as text. schema.ts describes the columns.
 */
import type { Moment } from '../../../base/clock.js'
import type { Properties, TopicType } from '../../../topics/topic.js'

/** The object ids of element types, the same in every engine that speaks the protocol. */
const bytea = 17
const text = 25

/** A `bytea[]`. */
export function bytesArray(elements: readonly Buffer[]): Buffer {
  return binaryArray(bytea, elements)
}

/** A `text[]` of UTF-8 strings; undefined becomes null. */
export function textArray(elements: readonly (Buffer | undefined)[]): Buffer {
  return binaryArray(text, elements)
}

/** An array of numbers or booleans, in the text form that every element type accepts; undefined becomes null. */
export function plainArray(elements: readonly (number | bigint | boolean | string | undefined)[]): string {
  return `{${elements.map((element) => element ?? 'null').join(',')}}`
}

/**
 * The binary form of an array: the number of dimensions, whether there are nulls, the element type, the length, the first index;
 * then each element, preceded by its length, or by -1 for null.
 */
function binaryArray(type: number, elements: readonly (Buffer | undefined)[]): Buffer {
  let length = 20
  for (const element of elements) length += 4 + (element?.length ?? 0)
  const array = Buffer.allocUnsafe(length)
  array.writeInt32BE(1, 0)
  array.writeInt32BE(elements.includes(undefined) ? 1 : 0, 4)
  array.writeInt32BE(type, 8)
  array.writeInt32BE(elements.length, 12)
  array.writeInt32BE(1, 16)
  let end = 20
  for (const element of elements) {
    end = array.writeInt32BE(element?.length ?? -1, end)
    if (element !== undefined) end += element.copy(array, end)
  }
  return array
}

/** The bytes of a `bytea` column, which arrives as `\x` and hexadecimal digits. */
export function bytesOf(column: string): Buffer {
  return Buffer.from(column.slice(2), 'hex')
}

/** The text form in which a `bytea` column with these bytes arrives. */
export function columnOf(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`
}

export const typeNumbers: Readonly<Record<TopicType, number>> = { json: 1, string: 2 }

/** @throws Error if the column has no properties */
export function propertiesOf(column: string | null): Properties {
  const properties: unknown = column === null ? {} : JSON.parse(column)
  if (typeof properties !== 'object' || properties === null) throw new Error('it has no properties')
  return properties as Properties
}

/** Undefined, which becomes null, if there are no properties, as for most topics. */
export function columnOfProperties(properties: Properties): Buffer | undefined {
  return Object.keys(properties).length === 0 ? undefined : Buffer.from(JSON.stringify(properties))
}

/** A time from a column. The engine has no other clock, so steps of this one go unnoticed. */
export function momentOf(column: string | number): Moment {
  const ms = Number(column)
  return { wallMs: ms, steadyMs: ms, boot: 'engine' }
}
