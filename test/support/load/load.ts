/**
 * Mixed load over many connections that records, for every topic, the history of requests and answers, so that each
 * answer can be checked afterwards. It survives any death of the service, and records requests without an answer too.
 */

import { findViolation, type Operation, type Value, type Violation } from '../models/linearizable.js'
import { versionFaults } from '../models/version-history.js'
import { type Random, randomFrom } from '../random.js'
import type { Client } from '../service/client.js'
import { follow, type Target } from './follow.js'

export interface LoadOptions {
  readonly connections: number
  readonly topics: number
  /** Its seed; each connection has a generator of its own, so that none depends on the speed of others. */
  readonly random: Pick<Random, 'seed'>
  /** Where the connection of this number sends its next request; undefined while there is no service. */
  readonly target: (connection: number) => Target | undefined
  /** Called at each answer. */
  readonly onAnswer?: () => void
}

/** Codes that guarantee that nothing was changed. */
const nothingDone: ReadonlySet<string> = new Set(['store_unavailable', 'write_conflict'])

export class Load {
  /** Operations by topic. */
  readonly histories = new Map<string, Operation[]>()
  /** Writes that were answered 200. */
  acknowledged = 0
  /** Writes whose constraint did not hold. */
  conflicts = 0
  reads = 0
  /** Requests that got no answer: their connection broke. */
  unanswered = 0
  /** How many answers say neither what the value is nor that something was done, by status and code. */
  readonly refused = new Map<string, number>()
  slowest = { ms: 0, route: '' }

  readonly #options: LoadOptions
  readonly #paths: readonly string[]
  readonly #loops: Promise<void>[] = []
  readonly #deathsMs: number[] = []
  #lastValue = 0
  #stopping = false

  constructor(options: LoadOptions) {
    this.#options = options
    this.#paths = Array.from({ length: options.topics }, (_, i) => `load/${i}`)
    for (const path of this.#paths) this.histories.set(path, [])
  }

  start(): void {
    for (let i = 0; i < this.#options.connections; i++) this.#loops.push(this.#loop(i))
  }

  /** Sends no more requests; resolves once those in flight have ended. */
  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all(this.#loops)
  }

  /** Reads every topic once more, as the last operation of its history; each read must be answered. */
  async readAll(client: Client): Promise<void> {
    for (const path of this.#paths) {
      const before = this.reads
      await this.#fetch(client, path, true)
      if (this.reads === before)
        throw new Error(`the last read of ${path} was refused: ${[...this.refused.keys()].join()}`)
    }
  }

  /** Every process that had received a request is dead: one without an answer is not carried out any more. */
  died(): void {
    this.#deathsMs.push(performance.now())
  }

  /** The topics whose histories cannot be explained. */
  violations(): { readonly path: string; readonly violation: Violation }[] {
    const withDeath = (operation: Operation): Operation =>
      operation.endMs === undefined
        ? { ...operation, deadMs: this.#deathsMs.find((atMs) => atMs > operation.startMs) }
        : operation
    return [...this.histories].flatMap(([path, history]) => {
      const violation = findViolation(history.map(withDeath))
      return violation === undefined ? [] : [{ path, violation }]
    })
  }

  /** What is wrong with the versions that were seen of each topic. */
  versionFaults(): readonly string[] {
    return [...this.histories].flatMap(([path, history]) => versionFaults(history).map((fault) => `${path}: ${fault}`))
  }

  async #loop(connection: number): Promise<void> {
    const random = randomFrom((this.#options.random.seed + connection) >>> 0)
    await follow(
      { target: () => this.#options.target(connection), connections: 1, isOver: () => this.#stopping },
      (client) => this.#step(client, random),
    )
  }

  /** Sends one random request; false when the next one should wait a little: no answer came, or nothing was done. */
  async #step(client: Client, random: Random): Promise<boolean> {
    const path = random.pick(this.#paths)
    const kind = random.below(100)
    if (kind < 40) return this.#fetch(client, path, random.oneIn(2))
    if (kind < 45) return this.#fetchAll(client, random.oneIn(2))
    if (kind < 50) return this.#remove(client, path)
    const value = this.#newValue()
    if (kind < 60) return this.#batch(client, random)
    if (kind < 65) return this.#compareAndSet(client, path, value)
    return kind < 75 ? this.#set(client, path, value) : this.#addAndSet(client, path, value)
  }

  async #fetch(client: Client, path: string, withVersion: boolean): Promise<boolean> {
    return this.#request(client, 'fetch', { path, with_version: withVersion }, [path], [], (status, code, text) => {
      if (status !== 200 && code !== 'no_such_topic') return undefined
      this.reads++
      return [seenIn(status === 200 ? (JSON.parse(text) as Result) : undefined)]
    })
  }

  async #fetchAll(client: Client, withVersion: boolean): Promise<boolean> {
    const body = { selector: '*load//', size: this.#paths.length, with_version: withVersion }
    return this.#request(client, 'fetch', body, this.#paths, [], (status, _code, text) => {
      if (status !== 200) return undefined
      this.reads++
      const { results } = JSON.parse(text) as { results: Result[] }
      const found = new Map(results.map((result) => [result.path, result]))
      return this.#paths.map((path) => seenIn(found.get(path)))
    })
  }

  async #set(client: Client, path: string, value: Value): Promise<boolean> {
    return this.#request(client, 'set', { path, value }, [path], [{ write: value }], (status, code) => {
      if (code === 'no_such_topic') return [{ found: false }]
      return status === 200 ? this.#acknowledge({ found: true, write: value }) : undefined
    })
  }

  async #addAndSet(client: Client, path: string, value: Value): Promise<boolean> {
    return this.#request(client, 'addAndSet', { path, value }, [path], [{ write: value }], (status, _code, text) => {
      if (status !== 200) return undefined
      return this.#acknowledge({ found: !(JSON.parse(text) as { created: boolean }).created, write: value })
    })
  }

  async #remove(client: Client, path: string): Promise<boolean> {
    return this.#request(client, 'remove', { path }, [path], [{ write: null }], (status, _code, text) => {
      if (status !== 200) return undefined
      return this.#acknowledge({ found: (JSON.parse(text) as { removed: number }).removed === 1, write: null })
    })
  }

  /** Sets what the topic was last seen to hold, or adds it where none was seen. */
  async #compareAndSet(client: Client, path: string, value: Value): Promise<boolean> {
    const swap = { read: this.#lastSeen(path), write: value }
    const body = { path, value, constraint: constraintOf(swap.read) }
    return this.#request(client, 'addAndSet', body, [path], [swap], (status, code) => {
      if (code === 'unsatisfied_constraint') return this.#conflict([{ notRead: swap.read }])
      return status === 200 ? this.#acknowledge(swap) : undefined
    })
  }

  /** The same for several topics, all or none; some are removed instead. */
  async #batch(client: Client, random: Random): Promise<boolean> {
    const paths = [...new Set(Array.from({ length: 2 + random.below(2) }, () => random.pick(this.#paths)))]
    const swaps = paths.map((path) => {
      const write = random.oneIn(5) ? null : this.#newValue()
      return { read: this.#lastSeen(path), write }
    })
    const operations = swaps.map(({ read, write }, i) => {
      const constrained = { path: paths[i], constraint: constraintOf(read) }
      return write === null ? { op: 'remove', ...constrained } : { op: 'addAndSet', ...constrained, value: write }
    })
    return this.#request(client, 'batch', { operations }, paths, swaps, (status, code, text) => {
      if (status === 200) {
        this.acknowledged++
        return swaps
      }
      if (code !== 'unsatisfied_constraint') return undefined
      const { operation } = JSON.parse(text) as { operation: number }
      // Those before it were satisfied at that instant, and those after it were not looked at.
      return this.#conflict([
        ...swaps.slice(0, operation).map(({ read }) => ({ read })),
        ...swaps.slice(operation, operation + 1).map(({ read }) => ({ notRead: read })),
        ...swaps.slice(operation + 1).map(() => ({})),
      ])
    })
  }

  #newValue(): string {
    return `v${++this.#lastValue}`
  }

  /** The value that a topic had according to the newest answer that says so. */
  #lastSeen(path: string): Value {
    const history = this.histories.get(path) ?? []
    const last = history.findLast(
      ({ endMs, read, write }) => endMs !== undefined && (read !== undefined || write !== undefined),
    )
    return (last?.write === undefined ? last?.read : last.write) ?? null
  }

  #acknowledge(meaning: Meaning): Meaning[] {
    this.acknowledged++
    return [meaning]
  }

  #conflict(meanings: Meaning[]): Meaning[] {
    this.conflicts++
    return meanings
  }

  /**
   * Sends a request and adds an operation to the history of each of the paths.
   *
   * @param attempts what to record for each path without an answer; nothing for a read
   * @param read returns what an answer means for each path; undefined when it leaves the outcome open
   */
  async #request(
    client: Client,
    route: string,
    body: object,
    paths: readonly string[],
    attempts: readonly Meaning[],
    read: (status: number, code: string, text: string) => readonly Meaning[] | undefined,
  ): Promise<boolean> {
    const startMs = performance.now()
    try {
      const { status, code, text } = await client.post(route, body)
      const endMs = performance.now()
      this.#options.onAnswer?.()
      if (endMs - startMs > this.slowest.ms) this.slowest = { ms: endMs - startMs, route }
      const meanings = read(status, code, text)
      if (meanings === undefined) {
        const name = `${status} ${code}`
        this.refused.set(name, (this.refused.get(name) ?? 0) + 1)
        // Not recorded, so that a value that such a write nevertheless left behind is found as a violation.
        if (nothingDone.has(code)) return false
      }
      for (const [i, path] of paths.entries()) {
        this.#record(
          path,
          meanings === undefined ? { startMs, endMs: undefined, ...attempts[i] } : { startMs, endMs, ...meanings[i] },
        )
      }
      return true
    } catch {
      this.unanswered++
      for (const [i, path] of paths.entries()) this.#record(path, { startMs, endMs: undefined, ...attempts[i] })
      return false
    }
  }

  #record(path: string, operation: Operation): void {
    this.histories.get(path)?.push(operation)
  }
}

type Meaning = Pick<Operation, 'read' | 'notRead' | 'found' | 'write' | 'version'>

/** A topic as a fetch shows it, with its version if that was asked for. */
interface Result {
  readonly path: string
  readonly value: string
  readonly version?: number
}

/** What a fetch says of a topic. @param result undefined if there is none */
function seenIn(result: Result | undefined): Meaning {
  return { read: result?.value ?? null, ...(result?.version === undefined ? {} : { version: result.version }) }
}

function constraintOf(value: Value): object {
  return value === null ? { no_topic: true } : { value }
}
