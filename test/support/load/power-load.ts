/**
 * Writers for power cuts: single writes, and groups that a batch adds and a selector removes. Each writer records acknowledgements, so that
 * a disk can be compared with them. The method of cutting a disk is not defined here.
 */
import { at } from '../elements.js'
import type { Client } from '../service/client.js'
import type { Server } from '../service/server.js'
import { follow, type Target } from './follow.js'
import { GroupWriter, type Stage } from './topic-groups.js'

const singleWriters = 24
const groupWriters = 3

/** Writes new topics, each once, and a counter alongside. */
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
    for (const { status, text } of answers) if (status !== 200) throw new Error(`a write returned ${status}: ${text}`)
    this.acknowledged = next
    return true
  }

  /** The number of writes up to `acknowledged` that are missing or have another value, on a disk that was cut before `sent`. */
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

/** The progress of every writer at a point in time. */
export interface Progress {
  /** The acknowledged writes of each single writer; at most one more was sent. */
  readonly writes: readonly number[]
  readonly groups: readonly (readonly Stage[])[]
}

/** The damage found on a disk. */
export interface Damage {
  /** Acknowledged single writes that are missing. */
  readonly lost: number
  /** Partial batches, missing batches, and removed topics that exist again. */
  readonly faults: readonly string[]
  /** Batches without a response that exist (`whole`) or not (`absent`), and removals that were only partly executed. */
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

  /** Whether a batch, or a removal by selector, has been sent and has no response yet. */
  get isWritingMany(): boolean {
    return this.#groups.some(({ isWriting }) => isWriting)
  }

  /** The number of acknowledged writes of every kind. */
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

  /** Checks a disk that was cut between `before` and `after`, through a service on it. */
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
