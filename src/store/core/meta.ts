/** The names of records in `meta` that every engine has, and what they say. */
import { numberOf } from '../number-record.js'

/** A number that changes with every change of an API key. */
export const keysRevisionName = 'keysRevision'

/** When the last backup was completed, in ms since the epoch. */
export const backupName = 'backup'

/** A `KnownClock`, as JSON. */
export const clockName = 'clock'

/** The wall clock's offset to the monotonic one when a process last compared them, and the boot in which it did. */
export interface KnownClock {
  readonly offset: number
  readonly boot: string
}

/** The revision of the keys; NaN, which differs from any, if its record cannot be read. */
export function keysRevisionOf(record: Buffer | undefined): number {
  return record === undefined ? 0 : (numberOf(record) ?? NaN)
}
