/**
 * The API key as a noun: its record, its rotation and its entry in a list, each declared once, for the engines that
 * store it, the processes that send it and the exports that carry it. The tags in the comments are the patterns by which
 * what comes from outside is checked. Nothing here makes or hashes a token: that is auth/token.ts.
 */
import type { Path } from '../topics/path.js'

export const operations = ['fetch', 'set', 'add', 'remove'] as const

export type Operation = (typeof operations)[number]

/** What a key may do: operations on topics, and `admin`, to administer API keys in the console. */
export const rights = [...operations, 'admin'] as const

export type Right = (typeof rights)[number]

/** In the order of `rights`; undefined unless each word is a right, given once, and there is one. */
export function parseRights(words: readonly string[]): readonly Right[] | undefined {
  const named = rights.filter((right) => words.includes(right))
  return named.length === words.length && named.length > 0 ? named : undefined
}

/** Why no key may have these rights, as a sentence without a full stop; undefined if one may. */
export function rightsProblem({ allow, under }: Pick<KeyRecord<string>, 'allow' | 'under'>): string | undefined {
  if (!allow.includes('admin') || under.length === 0) return undefined
  return 'a key with the right admin cannot be restricted to subtrees: it could create keys that are not'
}

/** Easy to type, to log and to align in a table. */
const keyName = /^[\w.@-]{1,64}$/

/** The same in words. */
export const keyNameForm = '1 to 64 letters, digits or any of . _ @ -'

export function isKeyName(name: string): boolean {
  return keyName.test(name)
}

/**
 * An API key as it is stored: never the token itself, only its SHA-256. In what comes from outside, a subtree may be any
 * string until it is parsed.
 */
export interface KeyRecord<Subtree extends string = Path> extends HashedToken {
  /** As `isKeyName` says. */
  readonly name: string
  readonly allow: readonly Right[]
  /** The subtrees that the key may touch; empty means all. */
  readonly under: readonly Subtree[]
  /**
   * @type uint64
   * @maximum 253402300799999
   */
  readonly madeMs: number
  /**
   * From then on it is refused, in ms since the epoch; undefined if it has no end.
   *
   * @type uint64
   * @maximum 253402300799999
   */
  readonly expiresMs?: number
  /**
   * Requests a second, of all workers of one host together; undefined for any number.
   *
   * @type uint32
   * @minimum 1
   * @maximum 1000000
   */
  readonly rate?: number
  /** The token that a rotation replaced, valid until it or the key expires; undefined if there is none. */
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
   * From then on it is refused, in ms since the epoch.
   *
   * @type uint64
   * @maximum 253402300799999
   */
  readonly untilMs: number
}

/** `added`: the key exists now. Otherwise another key has its name or its token, or its maker may not create it. */
export type KeyAddition = 'added' | 'name_taken' | 'token_taken' | 'forbidden'

export interface KeyRotation extends Pick<KeyRecord, 'name' | 'tokenHash'> {
  /**
   * The hash of the key's token until now. The key is rotated only if it still has that token.
   *
   * @pattern ^[0-9a-f]{64}$
   */
  readonly formerHash: string
  /**
   * From then on that token is refused, in ms since the epoch; undefined to refuse it at once.
   *
   * @type uint64
   * @maximum 253402300799999
   */
  readonly formerUntilMs?: number
}

export interface ListedKey extends KeyRecord<string> {
  /** In ms since the epoch; undefined if the key has never been used. */
  readonly usedMs?: number
}
