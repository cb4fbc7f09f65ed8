/** Reading and changing API key records (keys/record.ts), for every engine. Permissions are decided elsewhere. */
import type { Awaitable } from '../base/awaitable.js'
import type { Maker } from '../keys/makers.js'
import type { KeyAddition, KeyRecord, KeyRotation } from '../keys/record.js'

/** Reads the keys that identify callers. */
export interface KeyReader {
  /**
   * @param onUnreadable called for each skipped key with the fault in its record, as the end of a sentence; without it, the first
   *   fault is thrown as an Error
   */
  readKeys(onUnreadable?: (name: string, problem: string) => void): Awaitable<readonly KeyRecord[]>
  /** A number that changes whenever any process adds, restores, rotates or revokes a key. */
  keysRevision(): Awaitable<number>
}

/** If a maker is given, a change beyond its permissions (`mayChange` in keys/makers.ts) is not applied and returns `forbidden` or false. */
export interface KeyChanger {
  /** Adds a key by the rules of `additionTo` in keys/rotation.ts. Changes nothing unless it returns `added`. */
  addKey(record: KeyRecord, by?: Maker): Promise<KeyAddition>
  /** Stores a key as given, replacing one with the same name. */
  restoreKey(record: KeyRecord): Promise<void>
  /**
   * Rotates by the rules of `rotated` in keys/rotation.ts. Returns false, and changes nothing, if the key does not exist or has a
   * different token. Returns true if the key already has the new token, so a rotation whose outcome is unknown can be repeated.
   */
  rotateKey(rotation: KeyRotation, by?: Maker): Promise<boolean>
  /** Returns false if the key does not exist. */
  revokeKey(name: string, by?: Maker): Promise<boolean>
}

export interface KeyUses {
  /** The time of each key's last use, as Unix time in ms, as of the last call to `touchKeys`. */
  keyUses(): Awaitable<ReadonlyMap<string, number>>
  touchKeys(uses: ReadonlyMap<string, number>): Promise<void>
}

export interface ApiKeyStore extends KeyReader, KeyChanger, KeyUses {}
