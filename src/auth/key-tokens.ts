/**
 * The tokens of all API keys, by their hashes, and until when each is accepted: a key may have an end, and so has the
 * token that a rotation replaced. Pure: the caller has the clock.
 */
import type { KeyRecord } from '../keys/record.js'
import { formerEndMs } from '../keys/rotation.js'

/** A token, and the key that it belongs to. */
interface KeyToken {
  readonly record: KeyRecord
  /** From then on it is refused, in ms since the epoch; Infinity if it has no end. */
  readonly endMs: number
}

export class KeyTokens {
  readonly #byHash: ReadonlyMap<string, KeyToken>
  readonly #ends: readonly number[]

  constructor(records: readonly KeyRecord[]) {
    const tokens = records.flatMap(tokensOf)
    this.#byHash = new Map(tokens)
    this.#ends = tokens.map(([, { endMs }]) => endMs).filter(Number.isFinite)
  }

  /** The key that a token with this hash belongs to, and until when it does; undefined for an unknown one. */
  get(hash: string): KeyToken | undefined {
    return this.#byHash.get(hash)
  }

  /** Whether any token has an end, past or to come. */
  get haveEnds(): boolean {
    return this.#ends.length > 0
  }

  /** How many tokens have ended. If it is the same at two times, the same tokens were accepted at both. */
  ended(nowMs: number): number {
    let count = 0
    for (const endMs of this.#ends) if (endMs <= nowMs) count++
    return count
  }
}

function tokensOf(record: KeyRecord): [string, KeyToken][] {
  const { tokenHash, expiresMs: endMs = Infinity, former } = record
  const own: [string, KeyToken] = [tokenHash, { record, endMs }]
  return former === undefined ? [own] : [[former.tokenHash, { record, endMs: formerEndMs(record) ?? endMs }], own]
}
