/** How every engine reads and changes the records of API keys (keys/record.ts). What a key may touch is not its business. */
import type { Awaitable } from '../base/awaitable.js'
import type { KeyAddition, KeyRecord, KeyRotation } from '../keys/record.js'

/** What tells callers apart. */
export interface KeyReader {
  /**
   * @param onUnreadable called for each key that is left out, with what is wrong with its record, as the end of a sentence;
   *   without it, an Error names the first
   */
  readKeys(onUnreadable?: (name: string, problem: string) => void): Awaitable<readonly KeyRecord[]>
  /** A number that changes whenever any process adds, rotates or revokes a key. */
  keysRevision(): Awaitable<number>
}

/** What an operator does with keys. */
export interface KeyChanger {
  /** Adds a key as `additionTo` in keys/rotation.ts says. Unless it is `added`, nothing is changed. */
  addKey(record: KeyRecord): Promise<KeyAddition>
  /** Stores a key as given, replacing one of the same name. */
  restoreKey(record: KeyRecord): Promise<void>
  /**
   * Gives a key its new token, as `rotated` in keys/rotation.ts says. False when there is no such key, or it has got
   * another token meanwhile; nothing is changed then. True, too, when the key has the new token already: so a rotation
   * whose outcome is unknown can be repeated.
   */
  rotateKey(rotation: KeyRotation): Promise<boolean>
  /** False when there is no such key. */
  revokeKey(name: string): Promise<boolean>
}

/** When keys were used. */
export interface KeyUses {
  /** When each key was last used, in ms since the epoch; only as current as the last call of `touchKeys`. */
  keyUses(): Awaitable<ReadonlyMap<string, number>>
  touchKeys(uses: ReadonlyMap<string, number>): Promise<void>
}

/** All that an engine does with API keys. */
export interface ApiKeyStore extends KeyReader, KeyChanger, KeyUses {}
