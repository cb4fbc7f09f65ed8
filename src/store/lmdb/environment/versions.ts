/**
 * The versions of topics (topics/version.ts) as LMDB keeps them: each in the 8 bytes that lmdb-js stores beside the
 * topic's item. In `meta` is the version of the conversion from the format without them: an item of that format says 1 or
 * 2 in these bytes, and has the conversion's version, so that no item needs to be rewritten. commit/change-log.ts gives them
 * out.
 */
import { type Database, getLastVersion, type Transaction } from 'lmdb'
import { numberRecord } from '../../number-record.js'

/** `meta`, whose keys are names. */
type Meta = Database<Buffer, string>

/** In `meta`: the version of every topic that has not changed since the store had no versions. */
const conversionName = 'conversionVersion'

/** Gives every topic of a store without versions this one, within a transaction. */
export function putConversionVersion(meta: Meta, version: number): void {
  meta.putSync(conversionName, numberRecord(version))
}

/** The greatest number that the format without versions has beside an item. */
const formerVersionMax = 2

/** The version that an item of the format without versions has. */
export function readConversionVersion(meta: Meta, snapshot?: { readonly transaction: Transaction }): number {
  return meta.get(conversionName, snapshot)?.readDoubleBE() ?? 0
}

/**
 * The version of the topic whose item was the last record that this process has read.
 *
 * @param conversionVersion what `readConversionVersion` returned: to read it here could overwrite the item
 */
export function versionOfLastRead(conversionVersion: number): number {
  const stored = getLastVersion()
  return stored === 1 || stored === formerVersionMax ? conversionVersion : stored
}
