/**
 * Specification records: what a topic was created with. The first byte is the type; if the topic has properties, a JSON
 * object follows. Also the keys of entries in `due`. Only encoding and single reads; commit/transaction.ts writes them.
 */

import type { Moment } from '../../../base/clock.js'
import type { Properties, TopicType } from '../../../topics/topic.js'

/** What a topic was created with. */
interface Specification {
  readonly type: TopicType
  /** Undefined for a topic without properties. */
  readonly details: Details | undefined
}

/** What is stored of a topic with properties. */
export interface Details {
  readonly properties: Properties
  readonly created: Moment
  /**
   * The key of its entry in `due`, hexadecimal; undefined without a REMOVAL policy, or once its clause was executed.
   */
  readonly due: string | undefined
}

const typeBytes: Readonly<Record<TopicType, number>> = { json: 0x6a, string: 0x73 }

/** The records of topics without properties. */
const plainRecords: Readonly<Record<TopicType, Buffer>> = {
  json: Buffer.from([typeBytes.json]),
  string: Buffer.from([typeBytes.string]),
}

/** The record of a specification; the caller must not change it. */
export function encodeSpecification({ type, details }: Specification): Buffer {
  if (details === undefined) return plainRecords[type]
  const rest = JSON.stringify(details)
  const record = Buffer.allocUnsafe(1 + Buffer.byteLength(rest))
  record[0] = typeBytes[type]
  record.write(rest, 1)
  return record
}

/** The text of the details in a record; undefined for that of a plain topic. */
export function detailsText(record: Uint8Array): string | undefined {
  if (record.length === 1) return undefined
  return Buffer.from(record.buffer, record.byteOffset + 1, record.length - 1).toString()
}

/** What such a text says. @throws Error when it cannot be read, or has no properties */
export function parseDetails(text: string): Details {
  const details = JSON.parse(text) as Details | null
  if (typeof details?.properties !== 'object' || details.properties === null) throw new Error('it has no properties')
  return details
}

/** The type of the topic in a record. */
export function typeOf(record: Uint8Array): TopicType {
  return record[0] === typeBytes.json ? 'json' : 'string'
}

export const dueKeyBytes = 16

/** The key of an entry in `due`: the time, then a number that makes it unique, so that the entries sort by time. */
export function dueKey(atMs: number, number: number): Buffer {
  const key = Buffer.allocUnsafe(dueKeyBytes)
  key.writeBigUInt64BE(BigInt(Math.floor(atMs)), 0)
  key.writeBigUInt64BE(BigInt(number), 8)
  return key
}

/** The time in a key that `dueKey` made, in ms since the epoch. */
export function dueMsOfKey(key: Buffer): number {
  return Number(key.readBigUInt64BE(0))
}
