/**
 * Writers for power cuts: single writes, and groups that a batch adds and a selector removes, each of which knows what was acknowledged,
 * so that a disk can be compared with it. How a disk is cut is not known here.
 */

import { at } from '../elements.js'
import type { Client } from '../service/client.js'
import type { Server } from '../service/server.js'
import { follow, type Target } from './follow.js'
import { GroupWriter, type Stage } from './topic-groups.js'

const singleWriters = 24
const groupWriters = 3

/** New topics, each once, and a counter that is written beside. */
class SingleWriter {
  acknowledged = 0
  readonly #name: number

  constructor(name: number) {
    this.#name = name
  }

  async write(client: Client): Promise<boolean> {
    const next = this.acknowledged + 1
    const answers = await Promise.all([
      client.post('addAndSet', { path: `new/${this.#name}/${next}`, value: next }),
      client.post('addAndSet', { path: `counters/${this.#name}`, value: next }),
    ])
    for (const { status, text } of answers)
      if (status !== 200) throw new Error(`a write was answered ${status}: ${text}`)
    this.acknowledged = next
    return true
  }

  /** How many of the writes until then are missing, or have become another, on a disk that was cut before `sent`. */
  async lost(client: Client, acknowledged: number, sent: number): Promise<number> {
    const found = new Map<string, unknown>()
    for (const { results } of await client.walk(`*new/${this.#name}//`, { size: 1000 }))
      for (const { path, value } of results) found.set(path, value)
    let lost = 0
    for (let value = 1; value <= acknowledged; value++) if (found.get(`new/${this.#name}/${value}`) !== value) lost++
    const counter = at(await client.walk(`>counters/${this.#name}`), 0).results.at(0)?.value ?? 0
    return (counter as number) < acknowledged || (counter as number) > sent + 1 ? lost + 1 : lost
  }
}

/** How far every writer has come at some moment. */
export interface Progress {
  /** Of each single writer, what was acknowledged; at most one more was sent. */
  readonly writes: readonly number[]
  readonly groups: readonly (readonly Stage[])[]
}

/** What was found on a disk. */
export interface Damage {
  /** Acknowledged single writes that are missing. */
  readonly lost: number
  /** Parts of batches, batches that are missing, and topics that are there again. */
  readonly faults: readonly string[]
  /** Batches without an answer that are there, and that are not; and removals of which only a part was done. */
  readonly whole: number
  readonly absent: number
  readonly halfRemoved: number
}

export class PowerLoad {
  readonly #singles = Array.from({ length: singleWriters }, (_, i) => new SingleWriter(i))
  readonly #groups = Array.from({ length: groupWriters }, (_, i) => new GroupWriter(String(i)))
  readonly #loops: readonly Promise<void>[]
  #isStopping = false

  constructor(server: Server) {
    const target = (): Target => server
    const isOver = (): boolean => this.#isStopping
    this.#loops = [...this.#singles, ...this.#groups].map((writer) =>
      follow({ target, connections: 1, isOver }, (client) => writer.write(client)),
    )
  }

  /** Whether a batch, or a removal by selector, has been sent and not been answered. */
  get isWritingMany(): boolean {
    return this.#groups.some(({ isWriting }) => isWriting)
  }

  /** Writes of every kind that were acknowledged. */
  get acknowledged(): number {
    const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
    return (
      2 * sum(this.#singles.map(({ acknowledged }) => acknowledged)) +
      sum(this.#groups.map(({ acknowledged }) => acknowledged))
    )
  }

  progress(): Progress {
    return {
      writes: this.#singles.map(({ acknowledged }) => acknowledged),
      groups: this.#groups.map((writer) => writer.stages()),
    }
  }

  /** Compares a disk that was cut after one moment and before another, by a service on it. */
  async damage(client: Client, before: Progress, after: Progress): Promise<Damage> {
    let [lost, whole, absent, halfRemoved] = [0, 0, 0, 0]
    const faults: string[] = []
    for (const [i, single] of this.#singles.entries())
      lost += await single.lost(client, at(before.writes, i), at(after.writes, i))
    for (const [i, writer] of this.#groups.entries()) {
      const found = await writer.found(client, at(before.groups, i), at(after.groups, i))
      faults.push(...found.faults)
      whole += found.whole
      absent += found.absent
      halfRemoved += found.halfRemoved
    }
    return { lost, faults, whole, absent, halfRemoved }
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#loops)
  }
}
