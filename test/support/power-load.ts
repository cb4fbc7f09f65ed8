/**
 * Writers for power cuts: single writes, batches, and removals by selector, each of which knows what was acknowledged,
 * so that a disk can be compared with it. How a disk is cut is not known here.
 */
import { type Board, BoardWriters } from './boards.js'
import type { Client } from './client.js'
import { follow, type Target } from './follow.js'
import { at } from './only.js'
import type { Server } from './server.js'

const singleWriters = 24
const boards = 2
const removers = 2

/** Topics that one batch adds and one removal by selector removes. */
const groupTopics = 1000

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

  /** How many of so many acknowledged writes are missing. */
  async missing(client: Client, acknowledged: number): Promise<number> {
    const found = new Set<string>()
    for (const { results } of await client.walk(`*new/${this.#name}//`, { size: 1000 }))
      for (const { path } of results) found.add(path)
    let missing = 0
    for (let value = 1; value <= acknowledged; value++) if (!found.has(`new/${this.#name}/${value}`)) missing++
    const counter = at(await client.walk(`>counters/${this.#name}`), 0).results.at(0)?.value ?? 0
    return (counter as number) < acknowledged ? missing + 1 : missing
  }
}

/** Groups of topics, added by a batch and removed by a selector, one after the other. */
class Remover {
  /** The last group whose removal was acknowledged. */
  removed = 0
  isRemoving = false
  readonly #name: number

  constructor(name: number) {
    this.#name = name
  }

  async write(client: Client): Promise<boolean> {
    const group = this.removed + 1
    const operations = Array.from({ length: groupTopics }, (_, i) => ({
      op: 'addAndSet',
      path: `groups/${this.#name}/${group}/${i}`,
      value: i,
    }))
    const added = await client.post('batch', { operations })
    if (added.status !== 200) throw new Error(`a batch was answered ${added.status}: ${added.text}`)
    this.isRemoving = true
    const { text } = await client.post('remove', { selector: `*groups/${this.#name}/${group}//` })
    this.isRemoving = false
    if (text !== `{"removed":${groupTopics}}`)
      throw new Error(`a removal of ${groupTopics} topics was answered ${text}`)
    this.removed = group
    return true
  }

  /** How many topics are there of groups whose removal was acknowledged. */
  async resurrected(client: Client, removed: number): Promise<number> {
    const pages = await client.walk(`*groups/${this.#name}//`, { size: 1000 })
    const groups = pages.flatMap(({ results }) => results.map(({ path }) => Number(path.split('/')[2])))
    return groups.filter((group) => group <= removed).length
  }
}

/** What was acknowledged at some moment. */
export interface Acknowledged {
  readonly writes: readonly number[]
  readonly batches: readonly number[]
  readonly removals: readonly number[]
}

/** What is wrong on a disk. */
export interface Damage {
  /** Acknowledged writes that are missing, and topics that are there though their removal was acknowledged. */
  readonly lost: number
  /** Boards with a part of a batch, or an older one than was acknowledged. */
  readonly faults: readonly string[]
}

export class PowerLoad {
  readonly #singles = Array.from({ length: singleWriters }, (_, i) => new SingleWriter(i))
  readonly #removers = Array.from({ length: removers }, (_, i) => new Remover(i))
  readonly #boards: BoardWriters
  readonly #loops: readonly Promise<void>[]
  #isStopping = false

  constructor(server: Server) {
    const target = (): Target => server
    const isOver = (): boolean => this.#isStopping
    this.#boards = new BoardWriters(boards, target)
    this.#boards.start()
    this.#loops = [...this.#singles, ...this.#removers].map((writer) =>
      follow({ target, connections: 1, isOver }, (client) => writer.write(client)),
    )
  }

  /** Whether a batch and a removal by selector have been sent and not been answered. */
  get isWritingMany(): boolean {
    const isInFlight = ({ sent, acknowledged }: Board): boolean => sent > acknowledged
    return this.#boards.boards.some(isInFlight) && this.#removers.some(({ isRemoving }) => isRemoving)
  }

  acknowledged(): Acknowledged {
    return {
      writes: this.#singles.map(({ acknowledged }) => acknowledged),
      batches: this.#boards.boards.map(({ acknowledged }) => acknowledged),
      removals: this.#removers.map(({ removed }) => removed),
    }
  }

  /** The last batch of each board that was sent. */
  sentBatches(): readonly number[] {
    return this.#boards.boards.map(({ sent }) => sent)
  }

  /** What is wrong with a disk that was cut after `before` and before `sentAfter`, according to a service on it. */
  async damage(client: Client, before: Acknowledged, sentAfter: readonly number[]): Promise<Damage> {
    let lost = 0
    for (const [i, single] of this.#singles.entries()) lost += await single.missing(client, at(before.writes, i))
    for (const [i, remover] of this.#removers.entries())
      lost += await remover.resurrected(client, at(before.removals, i))
    const faults: string[] = []
    for (const [i, board] of this.#boards.boards.entries())
      faults.push(...board.faults(await board.read(client), { from: at(before.batches, i), to: at(sentAfter, i) }))
    return { lost, faults }
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all([...this.#loops, this.#boards.stop()])
  }
}

/** Writes of every kind that were acknowledged. */
export function totalOf({ writes, batches, removals }: Acknowledged): number {
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
  return 2 * sum(writes) + sum(batches) + 2 * sum(removals)
}
