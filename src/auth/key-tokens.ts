/** The tokens of all API keys by hash, including replaced tokens, and their expiry. Pure: the caller passes the time. */
import type { KeyRecord } from '../keys/record.js'
import { formerExpiresMs } from '../keys/rotation.js'

interface KeyToken {
  readonly record: KeyRecord
  /** The time from which the token is rejected, as Unix time in ms; Infinity if it does not expire. */
  readonly expiresMs: number
}

export class KeyTokens {
  readonly #byHash: ReadonlyMap<string, KeyToken>
  readonly #expiryTimesMs: readonly number[]

  constructor(records: readonly KeyRecord[]) {
    const tokens = records.flatMap(hashEntriesOf)
    this.#byHash = new Map(tokens)
    this.#expiryTimesMs = tokens.map(([, { expiresMs }]) => expiresMs).filter(Number.isFinite)
  }

  get(hash: string): KeyToken | undefined {
    return this.#byHash.get(hash)
  }

  /** The number of expired tokens. If it is the same at two points in time, the same tokens were accepted at both. */
  expired(nowMs: number): number {
    let count = 0
    for (const expiresMs of this.#expiryTimesMs) if (expiresMs <= nowMs) count++
    return count
  }
}

/** A key's tokens by hash, in order of expiry. */
function hashEntriesOf(record: KeyRecord): [string, KeyToken][] {
  const { tokenHash, expiresMs = Infinity, former } = record
  const own: [string, KeyToken] = [tokenHash, { record, expiresMs }]
  return former === undefined
    ? [own]
    : [[former.tokenHash, { record, expiresMs: formerExpiresMs(record) ?? expiresMs }], own]
}
