/**
 * The types of an API key: its record, its rotation and its entry in a list. Each is declared once, for the engines that
 * store it, the processes that send it and the exports that contain it. Input from outside is validated against the tags
 * in the comments. Nothing here creates or hashes a token; see auth/token.ts.
 */
import type { Path } from '../topics/path.js'

export const operations = ['fetch', 'set', 'add', 'remove'] as const

export type Operation = (typeof operations)[number]

/** The permissions of a key: operations on topics, and `admin`, to administer API keys in the console. */
export const rights = [...operations, 'admin'] as const

export type Right = (typeof rights)[number]

/** Returns the permissions in the order of `rights`; undefined if a word is repeated or unknown, or if there are no words. */
export function parseRights(words: readonly string[]): readonly Right[] | undefined {
  const named = rights.filter((right) => words.includes(right))
  return named.length === words.length && named.length > 0 ? named : undefined
}

/** The reason why no key may have these permissions, as a sentence without a full stop; undefined if they are allowed. */
export function rightsProblem({ allow, under }: Pick<KeyRecord<string>, 'allow' | 'under'>): string | undefined {
  if (!allow.includes('admin') || under.length === 0) return undefined
  return 'a key with the permission admin cannot be restricted to subtrees, because it could create unrestricted keys'
}

/** Easy to type, to log and to align in a table. */
const keyName = /^[\w.@-]{1,64}$/

/** `keyName` in words. */
export const keyNameForm = '1 to 64 letters, digits or any of . _ @ -'

export function isKeyName(name: string): boolean {
  return keyName.test(name)
}

/**
 * An API key as stored: never the token itself, only its SHA-256. In input from outside, a subtree may be any string
 * until it is parsed.
 */
export interface KeyRecord<Subtree extends string = Path> extends HashedToken {
  /** Satisfies `isKeyName`. */
  readonly name: string
  readonly allow: readonly Right[]
  /** The subtrees that the key may access; empty means all. */
  readonly under: readonly Subtree[]
  /**
   * @type uint64
   * @maximum 253402300799999
   */
  readonly madeMs: number
  /**
   * The time from which the key is rejected, as Unix time in ms; undefined if it does not expire.
   *
   * @type uint64
   * @maximum 253402300799999
   */
  readonly expiresMs?: number
  /**
   * Requests per second for all workers of one host together; undefined if unlimited.
   *
   * @type uint32
   * @minimum 1
   * @maximum 1000000
   */
  readonly rate?: number
  /** The token that the last rotation replaced, valid until it or the key expires; undefined if there is no such token. */
  readonly former?: FormerToken
}

interface HashedToken {
  /**
   * SHA-256 of the token, lower-case hexadecimal.
   *
   * @pattern ^[0-9a-f]{64}$
   */
  readonly tokenHash: string
}

interface FormerToken extends HashedToken {
  /**
   * The time from which the token is rejected, as Unix time in ms.
   *
   * @type uint64
   * @maximum 253402300799999
   */
  readonly untilMs: number
}

/** `added`: the key exists now. Otherwise another key has the same name or token, or the maker is not allowed to create the key. */
export type KeyAddition = 'added' | 'name_taken' | 'token_taken' | 'forbidden'

export interface KeyRotation extends Pick<KeyRecord, 'name' | 'tokenHash'> {
  /**
   * The hash of the token to replace. The key is rotated only if it still has this token.
   *
   * @pattern ^[0-9a-f]{64}$
   */
  readonly formerHash: string
  /**
   * The time from which the replaced token is rejected, as Unix time in ms; undefined to reject it immediately.
   *
   * @type uint64
   * @maximum 253402300799999
   */
  readonly formerUntilMs?: number
}

export interface ListedKey extends KeyRecord<string> {
  /** Unix time in ms; undefined if the key has never been used. */
  readonly usedMs?: number
}
