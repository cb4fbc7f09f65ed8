/**
 * API keys as every engine stores them: their records, and reading and changing those. Never a token. What a key may
 * touch is decided in auth/.
 */
import type { Awaitable } from '../base/awaitable.js'
import type { Path } from '../topics/path.js'

/** An operation that an API key may be allowed. */
export type Operation = 'fetch' | 'set' | 'add' | 'remove'

/** An API key as it is stored: never the token itself, only its SHA-256. */
export interface KeyRecord {
  readonly name: string
  /** SHA-256 of the token, lower-case hexadecimal. */
  readonly tokenHash: string
  readonly allow: readonly Operation[]
  /** The subtrees that the key may touch; empty means all. */
  readonly under: readonly Path[]
  readonly madeMs: number
  /** From then on it is refused, in ms since the epoch; undefined if it has no end. */
  readonly expiresMs?: number
  /** Requests a second, of all workers of one host together; undefined for any number. */
  readonly rate?: number
  /** The token that a rotation replaced, which is good until its own end, or the key's; undefined if there is none. */
  readonly former?: FormerToken
}

interface FormerToken {
  readonly tokenHash: string
  /** From then on it is refused, in ms since the epoch. */
  readonly untilMs: number
}

/** A new token for an API key. */
export interface KeyRotation {
  readonly name: string
  /** That of the key's token until now. The key is rotated only if it still is. */
  readonly formerHash: string
  /** From then on that token is refused, in ms since the epoch; undefined to refuse it at once. */
  readonly formerUntilMs?: number
  /** That of the new token. */
  readonly tokenHash: string
}

/** What tells callers apart. */
export interface KeyReader {
  readKeys(): Awaitable<readonly KeyRecord[]>
  /** A number that changes whenever any process adds, rotates or revokes a key. */
  keysRevision(): Awaitable<number>
}

/** What an operator does with keys. */
export interface KeyChanger {
  /** False when the name is taken; nothing is changed then. */
  addKey(record: KeyRecord): Promise<boolean>
  /** Stores a key as given, replacing one of the same name. */
  restoreKey(record: KeyRecord): Promise<void>
  /**
   * Gives a key its new token, as `rotated` in key-rotation.ts says. False when there is no such key, or it has got
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
