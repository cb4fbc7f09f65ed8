/**
 * Specification records: a topic's type and creation details. The first byte is the type; if the topic has properties, a
 * JSON object follows. Also the keys of entries in `due`. Only encoding and decoding; commit/transaction.ts writes the records.
 */

import type { Moment } from '../../../base/clock.js'
import type { Properties, TopicType } from '../../../topics/topic.js'

interface Specification {
  readonly type: TopicType
  /** Undefined for a topic without properties. */
  readonly details: Details | undefined
}

export interface Details {
  readonly properties: Properties
  readonly created: Moment
  /** The key of the topic's entry in `due`, in hex; undefined if it has no REMOVAL policy, or its remove clause has been executed. */
  readonly due: string | undefined
}

/** The records of topics without properties: one byte, with which all other records of the same type start. */
const plainRecords: Readonly<Record<TopicType, Buffer>> = { json: Buffer.from('j'), string: Buffer.from('s') }

/** The caller must not change the record. */
export function encodeSpecification({ type, details }: Specification): Buffer {
  const plain = plainRecords[type]
  return details === undefined ? plain : Buffer.concat([plain, Buffer.from(JSON.stringify(details))])
}

/** Undefined for the record of a topic without properties. */
export function detailsText(record: Uint8Array): string | undefined {
  if (record.length === 1) return undefined
  return Buffer.from(record.buffer, record.byteOffset + 1, record.length - 1).toString()
}

/** @throws Error if the text cannot be read, or has no properties */
export function parseDetails(text: string): Details {
  const details = JSON.parse(text) as Details | null
  if (typeof details?.properties !== 'object' || details.properties === null) throw new Error('it has no properties')
  return details
}

export function typeOf(record: Uint8Array): TopicType {
  return record[0] === plainRecords.json[0] ? 'json' : 'string'
}

export const dueKeyBytes = 16

/** The key of an entry in `due`: the time, then a number that makes it unique, so that the entries sort by time. */
export function dueKey(atMs: number, number: number): Buffer {
  const key = Buffer.allocUnsafe(dueKeyBytes)
  key.writeBigUInt64BE(BigInt(Math.floor(atMs)), 0)
  key.writeBigUInt64BE(BigInt(number), 8)
  return key
}

export function dueMsOfKey(key: Buffer): number {
  return Number(key.readBigUInt64BE(0))
}
