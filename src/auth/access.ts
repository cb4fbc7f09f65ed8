/** A caller: the rights of its API key, with what a worker keeps for each key. Nothing here reads a store or a header. */
import type { KeyRecord } from '../keys/record.js'
import { type Rights, rightsOf } from '../keys/rights.js'
import type { KeyCount } from './key-counts.js'
import type { RateLimit } from './rate-limit.js'

export interface Access extends Rights {
  readonly name: string
  readonly record: KeyRecord
  /** Of this worker; undefined for a key that may make any number of requests. */
  readonly rateLimit: RateLimit | undefined
  readonly count: KeyCount
}

export function accessOf(record: KeyRecord, rateLimit: RateLimit | undefined, count: KeyCount): Access {
  return { ...rightsOf(record), name: record.name, record, rateLimit, count }
}
