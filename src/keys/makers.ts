/**
 * What a key with the right `admin` may do to API keys: nothing that would give it, or whoever holds the key, more than it has.
 * Pure: each engine asks within the transaction that changes a key, so that a key that has been revoked changes nothing.
 */
import type { KeyRecord } from './record.js'
import { ownerOf } from './rotation.js'

/** The key by which a change is made, and the hash of the token that its caller has. The command line has no maker. */
export type Maker = Pick<KeyRecord, 'name' | 'tokenHash'>

type Limits = Pick<KeyRecord<string>, 'allow' | 'expiresMs' | 'rate'>

export function isAdministrator({ allow, under }: Pick<KeyRecord<string>, 'allow' | 'under'>): boolean {
  return allow.includes('admin') && under.length === 0
}

/** What a key has beyond its maker, in words; undefined if nothing. A maker has no subtrees, so a key may have any. */
export function excessOf(key: Limits, maker: Limits): string | undefined {
  const more = key.allow.find((right) => !maker.allow.includes(right))
  if (more !== undefined) return `the right ${more}`
  if ((key.expiresMs ?? Infinity) > (maker.expiresMs ?? Infinity)) return 'a later expiry'
  if ((key.rate ?? Infinity) > (maker.rate ?? Infinity)) return 'a higher rate'
  return undefined
}

/**
 * Whether a key may be created, rotated or revoked by its maker, as that is now.
 *
 * @param by undefined for the command line, which may do everything
 * @param maker the record of the maker's name; undefined if there is none
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
