/** A caller: the permissions of its API key, plus the state that a worker keeps per key. Nothing here reads a store or a header. */
import type { KeyRecord } from '../keys/record.js'
import { type Rights, rightsOf } from '../keys/rights.js'
import type { KeyCount } from './key-counts.js'
import type { RateLimit } from './rate-limit.js'

export interface Access extends Rights {
  readonly name: string
  readonly record: KeyRecord
  /** This worker's limiter; undefined if unlimited. */
  readonly rateLimit: RateLimit | undefined
  readonly count: KeyCount
}

export function accessOf(record: KeyRecord, rateLimit: RateLimit | undefined, count: KeyCount): Access {
  return { ...rightsOf(record), name: record.name, record, rateLimit, count }
}
