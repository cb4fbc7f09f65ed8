/**
 * Version numbers: no call in any process returns one twice. A process takes them from a block of its own, and each
 * block is taken in a transaction. The first one is taken while the environment is opened. The next one is taken in
 * reserve, long before it is needed: a number may be needed within a condition block, where no transaction may be made,
 * and no process may write while another opens the environment (commits.ts).
 */
import { strict as assert } from 'node:assert'
import type { Database } from 'lmdb'
import { numberRecord } from './number-record.js'

/** In `meta`: the last block that any process took. */
const blockName = 'stretch'

export class Versions {
  readonly #meta: Database<Buffer, string>
  readonly #blockSize: number
  #next: number
  #left: number
  /** The first number of the next block. */
  #reserve: number | undefined
  #onLow: () => void = () => {}

  /**
   * Takes the first block, in a synchronous transaction.
   *
   * @param blockSize numbers in a block; the same in every process that uses the store
   */
  constructor(meta: Database<Buffer, string>, blockSize = 2 ** 28) {
    this.#meta = meta
    this.#blockSize = blockSize
    this.#next = meta.transactionSync(() => this.#takeBlock())
    this.#left = blockSize
  }

  /** An arrow function in a field: it is passed on by itself. */
  readonly next = (): number => {
    if (this.#left === 0) {
      assert(this.#reserve !== undefined, 'a block was used up before the next one had been taken')
      this.#next = this.#reserve
      this.#left = this.#blockSize
      this.#reserve = undefined
    }
    // Half a block is far more than the writes that can be in flight until the reserve is there.
    if (this.#left-- === this.#blockSize / 2) this.#onLow()
    return this.#next++
  }

  /** @param onLow called for each block, when half of it is left; it is to have `takeReserve` called soon */
  whenLow(onLow: () => void): void {
    this.#onLow = onLow
  }

  /** Takes the next block, in a transaction; resolves once that is on disk. Not to be called within a block. */
  takeReserve(): Promise<boolean> {
    return this.#meta.transaction(() => {
      this.#reserve = this.#takeBlock()
      return true
    })
  }

  /** The first number of the next block; to be called in a transaction. */
  #takeBlock(): number {
    const block = (this.#meta.get(blockName)?.readDoubleBE() ?? 0) + 1
    this.#meta.putSync(blockName, numberRecord(block))
    return block * this.#blockSize
  }
}
