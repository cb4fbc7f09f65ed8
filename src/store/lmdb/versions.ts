/**
 * The versions of topics (topics/version.ts) as LMDB keeps them: each in the 8 bytes that lmdb-js stores beside the
 * topic's item, and in `meta` the last one that was taken, and that of the conversion from the format without them. An
 * item of that format says 1 or 2 there, and has the conversion's version, so that no item needs to be rewritten.
 */
import { type Database, getLastVersion, type Transaction } from 'lmdb'
import { nextVersion } from '../../topics/version.js'
import { numberRecord } from './number-record.js'

/** `meta`, whose keys are names. */
type Meta = Database<Buffer, string>

/** In `meta`: the last version that a change took. */
const lastName = 'lastVersion'

/** In `meta`: the version of every topic that has not changed since the store had no versions. */
const conversionName = 'conversionVersion'

/** Begins the versions of a store of an earlier format, or of a new one, within a transaction. */
export function beginVersions(meta: Meta, nowMs: number): void {
  const version = numberRecord(nextVersion(lastOf(meta), nowMs))
  meta.putSync(conversionName, version)
  meta.putSync(lastName, version)
}

function lastOf(meta: Meta): number {
  return meta.get(lastName)?.readDoubleBE() ?? 0
}

/**
 * The versions that one transaction gives to changes: to be made and used within its callback. The last one is read
 * once, and written by `keep`.
 */
export class NextVersions {
  readonly #meta: Meta
  readonly #nowMs: number
  #last: number

  constructor(meta: Meta, nowMs: number) {
    this.#meta = meta
    this.#nowMs = nowMs
    this.#last = lastOf(meta)
  }

  /** The version of the next change. */
  next(): number {
    this.#last = nextVersion(this.#last, this.#nowMs)
    return this.#last
  }

  /** Has later transactions go on from here. */
  keep(): void {
    this.#meta.putSync(lastName, numberRecord(this.#last))
  }
}

/** The greatest number that the format without versions has beside an item. */
const formerVersionMax = 2

/** The version that an item of the format without versions has. */
export function readConversionVersion(meta: Meta): number {
  return meta.get(conversionName)?.readDoubleBE() ?? 0
}

/**
 * The version of the topic whose item was the last record that this process has read.
 *
 * @param conversionVersion what `readConversionVersion` returned: to read it here could overwrite the item
 */
export function versionOfLastRead(conversionVersion: number): number {
  const stored = getLastVersion()
  return stored <= formerVersionMax ? conversionVersion : stored
}

/** The rules that the versions in one snapshot follow, for a check of the store. */
export interface VersionRules {
  /** What is wrong with the two numbers in `meta`; undefined when nothing is. */
  readonly problem: string | undefined
  /** What is wrong with the number beside an item; undefined when nothing is. */
  problemOf(stored: number): string | undefined
}

/** Reads the rules in a snapshot. */
export function readVersionRules(meta: Meta, snapshot: { readonly transaction: Transaction }): VersionRules {
  const last = meta.get(lastName, snapshot)?.readDoubleBE() ?? 0
  const conversion = meta.get(conversionName, snapshot)?.readDoubleBE() ?? 0
  return {
    problem: versionsProblem(last, conversion),
    problemOf(stored) {
      if (!Number.isSafeInteger(stored) || stored < 1) return `its version is ${stored}, not a positive integer`
      if (stored > last) return `its version is ${stored}, but the last one is ${last}`
      return undefined
    },
  }
}

function versionsProblem(last: number, conversion: number): string | undefined {
  if (!Number.isSafeInteger(last) || !Number.isSafeInteger(conversion) || conversion < 1) {
    return `the last version is ${last} and that of the conversion ${conversion}: they must be positive integers`
  }
  return last < conversion ? `the last version, ${last}, is less than that of the conversion, ${conversion}` : undefined
}
