/**
 * What changes of API keys do, for every engine alike: whether a key can be added, what a rotation makes of a record, when the
 * replaced token expires, and whose a token is. Pure: each engine reads the records, decides and writes in one step, so that a
 * key that is being revoked is not resurrected.
 *
 * A process may end between its commit and its response, so additions and rotations can be repeated, with the same outcome.
 */
import type { KeyAddition, KeyRecord, KeyRotation } from './record.js'

/** A key with the same name and token is the same key, perhaps rotated since. */
export function additionTo(keys: readonly KeyRecord<string>[], { name, tokenHash }: KeyRecord): KeyAddition {
  const named = keys.find((key) => key.name === name)
  if (named !== undefined) return ownerOf(tokenHash, [named]) === undefined ? 'name_taken' : 'added'
  return ownerOf(tokenHash, keys) === undefined ? 'added' : 'token_taken'
}

/**
 * The record after the rotation: with the new token, and with the former one beside it until its end. A token that an
 * earlier rotation replaced is dropped, even if it was still good. A record that has the new token already, or had it, is
 * returned as it is.
 *
 * @param record undefined for a key that does not exist
 * @returns undefined if the key must not be rotated: it does not exist, or has another token than the former one
 */
export function rotated(record: KeyRecord | undefined, rotation: KeyRotation): KeyRecord | undefined {
  const { tokenHash, formerHash, formerUntilMs } = rotation
  if (record === undefined) return undefined
  // An earlier attempt has stored it; perhaps another rotation has replaced it since.
  if (record.tokenHash === tokenHash || record.former?.tokenHash === tokenHash) return record
  if (record.tokenHash !== formerHash) return undefined
  const former = formerUntilMs === undefined ? undefined : { tokenHash: formerHash, untilMs: formerUntilMs }
  return { ...record, tokenHash, former }
}

/** In ms since the epoch: a replaced token expires no later than its key. Undefined if there is none. */
export function formerExpiresMs({ former, expiresMs = Infinity }: KeyRecord<string>): number | undefined {
  return former && Math.min(former.untilMs, expiresMs)
}

/** Finds the key that has the token, or had it before its rotation. */
export function ownerOf<Key extends KeyRecord<string>>(tokenHash: string, keys: readonly Key[]): Key | undefined {
  return keys.find((key) => key.tokenHash === tokenHash || key.former?.tokenHash === tokenHash)
}
