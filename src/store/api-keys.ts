/** How every engine reads and changes the records of API keys (keys/record.ts). What a key may touch is not its business. */
import type { Awaitable } from '../base/awaitable.js'
import type { Maker } from '../keys/makers.js'
import type { KeyAddition, KeyRecord, KeyRotation } from '../keys/record.js'

/** Reads the keys by which callers are identified. */
export interface KeyReader {
  /**
   * @param onUnreadable called for each key that is left out, with what is wrong with its record, as the end of a sentence;
   *   without it, an Error names the first
   */
  readKeys(onUnreadable?: (name: string, problem: string) => void): Awaitable<readonly KeyRecord[]>
  /** A number that changes whenever any process adds, rotates or revokes a key. */
  keysRevision(): Awaitable<number>
}

/** With a maker, nothing is changed that it may not change (`mayChange` in keys/makers.ts). */
export interface KeyChanger {
  /** Adds a key as `additionTo` in keys/rotation.ts says. Unless it is `added`, nothing is changed. */
  addKey(record: KeyRecord, by?: Maker): Promise<KeyAddition>
  /** Stores a key as given, replacing one of the same name. */
  restoreKey(record: KeyRecord): Promise<void>
  /**
   * As `rotated` in keys/rotation.ts. Returns false, and changes nothing, if no such key exists, or it has another
   * token now. Returns true if it already has the new token, so a rotation whose outcome is unknown can be repeated.
   */
  rotateKey(rotation: KeyRotation, by?: Maker): Promise<boolean>
  /** False when there is no such key. */
  revokeKey(name: string, by?: Maker): Promise<boolean>
}

export interface KeyUses {
  /** The last use of each key, in ms since the epoch; only as current as the last call of `touchKeys`. */
  keyUses(): Awaitable<ReadonlyMap<string, number>>
  touchKeys(uses: ReadonlyMap<string, number>): Promise<void>
}

export interface ApiKeyStore extends KeyReader, KeyChanger, KeyUses {}
