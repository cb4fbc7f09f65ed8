/** The tokens of all API keys, former ones included, by hash, and their expiry. Pure: the caller has the clock. */
import type { KeyRecord } from '../keys/record.js'
import { formerExpiresMs } from '../keys/rotation.js'

interface KeyToken {
  readonly record: KeyRecord
  /** From then on it is refused, in ms since the epoch; Infinity if it does not expire. */
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

  /** How many tokens have expired. If it is the same at two times, the same tokens were accepted at both. */
  expired(nowMs: number): number {
    let count = 0
    for (const expiresMs of this.#expiryTimesMs) if (expiresMs <= nowMs) count++
    return count
  }
}

/** A key's tokens by their hashes, the one that expires first first. */
function hashEntriesOf(record: KeyRecord): [string, KeyToken][] {
  const { tokenHash, expiresMs = Infinity, former } = record
  const own: [string, KeyToken] = [tokenHash, { record, expiresMs }]
  return former === undefined
    ? [own]
    : [[former.tokenHash, { record, expiresMs: formerExpiresMs(record) ?? expiresMs }], own]
}
