/**
 * Receipts: the outcomes of each client's last requests, stored in the same transaction as their effects. If the writer dies, they
 * tell its successor which requests were executed, so that none is executed twice.
 *
 * A client is one end of a connection that outlives writers: a worker or a tool. An outcome is kept until the client has confirmed
 * it; all outcomes of a client are removed some time after it disconnects. If a client's receipts cannot be read, the client gets
 * an unknown outcome for each of its unconfirmed requests, because it is unclear which of them were executed.
 */

import { ByteReader, ByteWriter } from '../../base/bytes.js'
import { isVersioned } from '../core/write/batch.js'
import type { Outcome, Request } from '../core/write/group.js'
import type { Changes, Decider } from '../engine.js'
import { StoreError } from '../errors.js'
import type { BatchResult } from '../topics.js'
import { beginFrame, frameHeadBytes, takeFrame } from './frames.js'
import { readOutcome, writeOutcome } from './wire.js'

interface Outcomes {
  /** The frame, which starts with its length. */
  readonly frame: Buffer
  readonly lastNumber: number
}

export class Receipt {
  /** The number of the last request that this process has accepted from the client. */
  lastTaken = 0
  /** The reason why the stored outcomes cannot be read, until the client is notified; undefined if they can be read. */
  damage: Error | undefined
  /** The client has confirmed every outcome up to this number. */
  #acknowledged = 0
  readonly #out = new ByteWriter()
  /** The highest number in `#out`. */
  #lastNumber = 0
  #kept: Outcomes[] = []
  #unsent: Buffer[] = []

  constructor(
    readonly name: string,
    stored?: Buffer,
  ) {
    if (stored === undefined) return
    const from = new ByteReader(stored)
    let lastNumber = 0
    try {
      while (from.hasMore) lastNumber = Math.max(lastNumber, readOutcome(from).number)
    } catch (error) {
      this.damage = error as Error
      return
    }
    this.#kept.push({ frame: Buffer.concat([Buffer.alloc(frameHeadBytes), stored]), lastNumber })
  }

  add(number: number, outcome: BatchResult | boolean | Error): void {
    if (this.#out.length === 0) beginFrame(this.#out)
    writeOutcome(this.#out, number, outcome)
    this.#lastNumber = Math.max(this.#lastNumber, number)
  }

  acknowledge(number: number): void {
    this.#acknowledged = Math.max(this.#acknowledged, number)
    let known = 0
    while ((this.#kept[known]?.lastNumber ?? Infinity) <= number) known++
    if (known > 0) this.#kept.splice(0, known)
  }

  /**
   * Called with the highest number that the client has given to a request: if stored outcomes are damaged, all
   * unconfirmed outcomes up to that number are unknown.
   */
  takeGiven(lastNumber: number): void {
    if (this.damage === undefined) return
    const unknown = new StoreError('unknown_outcome', 'the record of its outcome cannot be read', {
      cause: this.damage,
    })
    for (let number = this.#acknowledged + 1; number <= lastNumber; number++) this.add(number, unknown)
    this.lastTaken = lastNumber
    this.damage = undefined
  }

  /** All outcomes that the client might not have received yet. */
  record(): Buffer {
    this.#gather()
    return Buffer.concat(this.#kept.map(({ frame }) => frame.subarray(frameHeadBytes)))
  }

  takeUnsent(): readonly Buffer[] {
    this.#gather()
    const unsent = this.#unsent
    this.#unsent = []
    return unsent
  }

  /** Turns the outcomes added so far into a frame, which is kept and waits to be sent. */
  #gather(): void {
    if (this.#out.length === 0) return
    const frame = takeFrame(this.#out)
    this.#kept.push({ frame, lastNumber: this.#lastNumber })
    this.#unsent.push(frame)
  }
}

export class Receipts {
  readonly #all = new Map<string, Receipt>()
  readonly #changed = new Set<Receipt>()

  /** @param stored the receipts of an earlier writer, by client @param onUnreadable called for each client with damaged receipts */
  constructor(stored: readonly (readonly [string, Buffer])[], onUnreadable: (reason: Error) => void = () => {}) {
    for (const [name, record] of stored) {
      const receipt = new Receipt(name, record)
      this.#all.set(name, receipt)
      const { damage: cause } = receipt
      if (cause !== undefined) onUnreadable(new Error(`the receipts of the client ${name} cannot be read`, { cause }))
    }
  }

  names(): readonly string[] {
    return [...this.#all.keys()]
  }

  /** A client's receipt, created if new. */
  of(name: string): Receipt {
    const known = this.#all.get(name) ?? new Receipt(name)
    this.#all.set(name, known)
    return known
  }

  /** Call within a transaction, with the outcome of a request in it. */
  add(receipt: Receipt, number: number, outcome: BatchResult | boolean | Error): void {
    receipt.add(number, outcome)
    this.#changed.add(receipt)
  }

  /** Call last in each transaction: stores the added outcomes. */
  put(changes: Changes): void {
    for (const receipt of this.#changed) changes.put('receipts', receipt.name, receipt.record())
  }

  /** Returns the receipts that `put` has stored since the last call to `takeChanged`. */
  takeChanged(): readonly Receipt[] {
    const changed = [...this.#changed]
    this.#changed.clear()
    return changed
  }

  /** Forgets a client whose record is removed. */
  forget(name: string): void {
    this.#all.delete(name)
  }
}

/** A request from the writer itself or from a client, or one to remove clients' receipts. */
export type WriterRequest =
  | { readonly request: Request; readonly from?: { readonly receipt: Receipt; readonly number: number } }
  | { readonly forgotten: () => readonly string[]; readonly clients: number }

export type WriterOutcome = Outcome | Error

/** Decides requests like `decider`, and stores the outcomes of clients' requests in the same commit. */
export function withReceipts(
  decider: Decider<Request, Outcome>,
  receipts: Receipts,
): Decider<WriterRequest, WriterOutcome> {
  return {
    sizeOf: (asked) =>
      'request' in asked ? decider.sizeOf(asked.request) : { operations: asked.clients, bytes: 0, grows: false },
    begin(stored, moment) {
      const group = decider.begin(stored, moment)
      const forgotten: string[] = []
      /** Outcomes with versions, which are known only at the end. */
      const late: Parameters<Receipts['add']>[] = []
      return {
        decide(asked) {
          if (!('request' in asked)) return forgotten.push(...asked.forgotten()) > 0
          const { request, from } = asked
          if (from === undefined) return group.decide(request)
          const outcome = outcomeOf(() => group.decide(request)) as BatchResult | boolean | Error
          if (Array.isArray(outcome) && outcome.some(isVersioned)) late.push([from.receipt, from.number, outcome])
          else receipts.add(from.receipt, from.number, outcome)
          return outcome
        },
        end(changes) {
          group.end(changes)
          for (const outcome of late) receipts.add(...outcome)
          receipts.put(changes)
          for (const name of forgotten) {
            receipts.forget(name)
            changes.put('receipts', name, undefined)
          }
        },
      }
    },
  }
}

function outcomeOf(decide: () => Outcome): WriterOutcome {
  try {
    return decide()
  } catch (error) {
    return error as Error
  }
}
