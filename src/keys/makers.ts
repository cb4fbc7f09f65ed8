/**
 * Limits on how a key with the `admin` permission may change API keys: it can never give a key more than it has itself.
 * Pure: each engine makes the check in the transaction that changes a key, so that a revoked key cannot change anything.
 */
import type { KeyRecord } from './record.js'
import { ownerOf } from './rotation.js'

/** The key that authorises a change, and the hash of the token that its caller used. The command line has no maker. */
export type Maker = Pick<KeyRecord, 'name' | 'tokenHash'>

type Limits = Pick<KeyRecord<string>, 'allow' | 'expiresMs' | 'rate'>

export function isAdministrator({ allow, under }: Pick<KeyRecord<string>, 'allow' | 'under'>): boolean {
  return allow.includes('admin') && under.length === 0
}

/** A limit of the maker that a key exceeds, in words; undefined if it exceeds none. A maker has no subtrees, so a key may have any. */
export function excessOf(key: Limits, maker: Limits): string | undefined {
  const more = key.allow.find((right) => !maker.allow.includes(right))
  if (more !== undefined) return `the permission ${more}`
  if ((key.expiresMs ?? Infinity) > (maker.expiresMs ?? Infinity)) return 'a later expiry'
  if ((key.rate ?? Infinity) > (maker.rate ?? Infinity)) return 'a higher rate'
  return undefined
}

/**
 * Whether the maker, with its current permissions, may create, rotate or revoke a key.
 *
 * @param by undefined for the command line, which may do everything
 * @param maker the current record with the maker's name; undefined if no such key exists
 */
export function mayChange(by: Maker | undefined, maker: KeyRecord<string> | undefined, key: Limits): boolean {
  if (by === undefined) return true
  return (
    maker !== undefined &&
    ownerOf(by.tokenHash, [maker]) !== undefined &&
    isAdministrator(maker) &&
    excessOf(key, maker) === undefined
  )
}
