/**
 * Decides changes to the records that are not topics: API keys, their last uses, and the store's notes about itself. Every change
 * to a key also changes the revision, so that a process can check with one small read whether its keys are current.
 */
import { type Maker, mayChange } from '../../../keys/makers.js'
import type { KeyRecord, KeyRotation } from '../../../keys/record.js'
import { additionTo, rotated } from '../../../keys/rotation.js'
import type { Changes, RecordTable, Stored, WriteSize } from '../../engine.js'
import { numberOf, numberRecord } from '../../number-record.js'
import { readKeyRecord, unreadableKey } from '../key-records.js'

/** In `meta`: a number that changes with every change to an API key. */
export const keysRevisionName = 'keysRevision'

/** In `meta`: the time of the last complete backup, as Unix time in ms. */
export const backupName = 'backup'

/** In `meta`: a `KnownClock`, as JSON. */
export const clockName = 'clock'

/** The wall clock's offset from the monotonic clock when a process last compared them, and the boot during which it did so. */
export interface KnownClock {
  readonly offset: number
  readonly boot: string
}

/** Returns NaN, which differs from any revision, if the record cannot be read. */
export function keysRevisionOf(record: Buffer | undefined): number {
  return record === undefined ? 0 : (numberOf(record) ?? NaN)
}

export type RecordChange =
  | { readonly about: 'addKey'; readonly record: KeyRecord; readonly by?: Maker | undefined }
  | { readonly about: 'restoreKey'; readonly record: KeyRecord }
  | { readonly about: 'rotateKey'; readonly rotation: KeyRotation; readonly by?: Maker | undefined }
  | { readonly about: 'revokeKey'; readonly name: string; readonly by?: Maker | undefined }
  /** The time of each key's last use, by name, as Unix time in ms. */
  | { readonly about: 'touchKeys'; readonly uses: readonly (readonly [string, number])[] }
  /** The time of the last complete backup, as Unix time in ms. */
  | { readonly about: 'noteBackup'; readonly madeMs: number }
  | { readonly about: 'noteClock'; readonly clock: KnownClock }

export function sizeOfChange(change: RecordChange): WriteSize {
  const bytes = 'record' in change ? Buffer.byteLength(JSON.stringify(change.record)) : 0
  return { operations: change.about === 'touchKeys' ? change.uses.length : 1, bytes, grows: false }
}

/** The tables that may be read to decide a change. */
export function tablesOf({ about }: RecordChange): readonly RecordTable[] {
  if (about === 'noteBackup' || about === 'noteClock') return []
  return about === 'touchKeys' ? ['keys', 'keyUses'] : ['keys', 'meta']
}

export class RecordDecisions {
  /** Changed records by table and name; undefined for a removed one. */
  readonly #changed = new Map<RecordTable, Map<string, Buffer | undefined>>()

  constructor(private readonly stored: Stored) {}

  /** @returns false if the change is rejected, for example because its key does not exist; otherwise true, even if nothing had to change */
  decide(change: RecordChange): boolean {
    switch (change.about) {
      case 'addKey':
        return this.#addKey(change.record, change.by)
      case 'restoreKey':
        return this.#putKey(change.record)
      case 'rotateKey': {
        const known = this.#readKey(change.rotation.name)
        const record = rotated(known, change.rotation)
        if (known === undefined || record === undefined) return false
        // A repeated request was allowed on its first attempt.
        return (record === known || this.#mayChange(change.by, known)) && this.#putKey(record)
      }
      case 'revokeKey':
        return this.#revokeKey(change.name, change.by)
      case 'touchKeys':
        for (const [name, usedMs] of change.uses) this.#touch(name, usedMs)
        return true
      case 'noteBackup':
        return this.#put('meta', backupName, numberRecord(change.madeMs))
      case 'noteClock':
        return this.#put('meta', clockName, Buffer.from(JSON.stringify(change.clock)))
      default:
        return change satisfies never
    }
  }

  end(changes: Changes): void {
    for (const [table, records] of this.#changed) {
      for (const [name, value] of records) changes.put(table, name, value)
    }
  }

  #touch(name: string, usedMs: number): void {
    if (usedMs <= (numberOf(this.#read('keyUses', name)) ?? 0) || this.#read('keys', name) === undefined) return
    this.#put('keyUses', name, numberRecord(usedMs))
  }

  #addKey(record: KeyRecord, by: Maker | undefined): boolean {
    const all = new Map([...this.stored.records('keys'), ...(this.#changed.get('keys') ?? [])])
    const keys = [...all].map(([name, bytes]) => bytes && readKeyRecord(name, bytes.toString()))
    const readable = keys.filter((key) => typeof key === 'object')
    if (additionTo(readable, record) !== 'added') return false
    if (all.get(record.name) === undefined) return this.#mayChange(by, record) && this.#putKey(record)
    // The key is already stored, unless an unreadable record has its name.
    return readable.some(({ name }) => name === record.name)
  }

  #revokeKey(name: string, by: Maker | undefined): boolean {
    if (this.#read('keys', name) === undefined) return false
    // The command line revokes even a key whose record cannot be read.
    const known = by && this.#readKey(name)
    if (known !== undefined && !this.#mayChange(by, known)) return false
    this.#put('keyUses', name, undefined)
    this.#put('keys', name, undefined)
    return this.#changeRevision()
  }

  #mayChange(by: Maker | undefined, key: KeyRecord): boolean {
    return mayChange(by, by && this.#readKey(by.name), key)
  }

  /** @throws Error if the record cannot be read */
  #readKey(name: string): KeyRecord | undefined {
    const bytes = this.#read('keys', name)
    const record = bytes && readKeyRecord(name, bytes.toString())
    if (typeof record === 'string') throw new Error(unreadableKey(name, record))
    return record
  }

  #putKey(record: KeyRecord): true {
    this.#put('keys', record.name, Buffer.from(JSON.stringify(record)))
    return this.#changeRevision()
  }

  #changeRevision(): true {
    const revision = keysRevisionOf(this.#read('meta', keysRevisionName))
    // Replace an unreadable revision with one that no process has read.
    return this.#put('meta', keysRevisionName, numberRecord(Number.isNaN(revision) ? Date.now() : revision + 1))
  }

  #read(table: RecordTable, name: string): Buffer | undefined {
    const records = this.#changed.get(table)
    return records?.has(name) === true ? records.get(name) : this.stored.record(table, name)
  }

  #put(table: RecordTable, name: string, value: Buffer | undefined): true {
    const records = this.#changed.get(table) ?? new Map<string, Buffer | undefined>()
    this.#changed.set(table, records.set(name, value))
    return true
  }
}
