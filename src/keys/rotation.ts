/**
 * The rules for changes to API keys, shared by the engines. They cover additions, the record after a rotation, the expiry
 * of the replaced token, and the owner of a token. Pure: each engine reads the records, decides and writes in one step, so that
 * a key that is being revoked is not resurrected.
 *
 * A process may exit between its commit and its response, so repeating an addition or rotation must have the same outcome.
 */
import type { KeyAddition, KeyRecord, KeyRotation } from './record.js'

/** A key with the same name and token counts as the same key, possibly rotated in the meantime. */
export function additionTo(keys: readonly KeyRecord<string>[], { name, tokenHash }: KeyRecord): KeyAddition {
  const named = keys.find((key) => key.name === name)
  if (named !== undefined) return ownerOf(tokenHash, [named]) === undefined ? 'name_taken' : 'added'
  return ownerOf(tokenHash, keys) === undefined ? 'added' : 'token_taken'
}

/**
 * The record after the rotation: it contains the new token and, if the replaced token stays valid for a while, that token
 * with its expiry. A token that an earlier rotation replaced is dropped, even if it was still valid. If the record already
 * has (or had) the new token, it is returned unchanged.
 *
 * @param record undefined for a key that does not exist
 * @returns undefined if the key must not be rotated: it does not exist, or its token is not `formerHash`
 */
export function rotated(record: KeyRecord | undefined, rotation: KeyRotation): KeyRecord | undefined {
  const { tokenHash, formerHash, formerUntilMs } = rotation
  if (record === undefined) return undefined
  // An earlier attempt stored the new token; a later rotation may have replaced it.
  if (record.tokenHash === tokenHash || record.former?.tokenHash === tokenHash) return record
  if (record.tokenHash !== formerHash) return undefined
  const former = formerUntilMs === undefined ? undefined : { tokenHash: formerHash, untilMs: formerUntilMs }
  return { ...record, tokenHash, former }
}

/** The expiry of the replaced token, no later than the key's, as Unix time in ms; undefined if there is no such token. */
export function formerExpiresMs({ former, expiresMs = Infinity }: KeyRecord<string>): number | undefined {
  return former && Math.min(former.untilMs, expiresMs)
}

/** Finds the key that has the token, or had it before its rotation. */
export function ownerOf<Key extends KeyRecord<string>>(tokenHash: string, keys: readonly Key[]): Key | undefined {
  return keys.find((key) => key.tokenHash === tokenHash || key.former?.tokenHash === tokenHash)
}
