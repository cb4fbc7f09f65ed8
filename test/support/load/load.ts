/**
 * Mixed load over many connections that records the history of requests and responses for every topic, so that each response can be checked
 * afterwards. It survives any death of the service, and also records requests without a response.
 */
import { findViolation, type Operation, type Value, type Violation } from '../models/linearizable.js'
import { versionFaults } from '../models/version-history.js'
import { type Random, randomFrom } from '../random.js'
import type { Client } from '../service/client.js'
import { follow, type Target } from './follow.js'

export interface LoadOptions {
  readonly connections: number
  readonly topics: number
  /** The seed; each connection has its own generator, so that it does not depend on the speed of the others. */
  readonly random: Pick<Random, 'seed'>
  /** The target of the connection's next request; undefined while there is no service. */
  readonly target: (connection: number) => Target | undefined
  /** Called for each response. */
  readonly onAnswer?: () => void
}

/** Codes that guarantee that nothing was changed. */
const nothingDone: ReadonlySet<string> = new Set(['store_unavailable', 'write_conflict'])

export class Load {
  /** Operations by topic. */
  readonly histories = new Map<string, Operation[]>()
  /** Writes that returned 200. */
  acknowledged = 0
  /** Writes whose constraint was not satisfied. */
  conflicts = 0
  reads = 0
  /** Requests without a response, because their connection broke. */
  unanswered = 0
  /** The number of responses that report neither a value nor a successful write, by status and code. */
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

  /** Sends no more requests; resolves when all requests in flight have ended. */
  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all(this.#loops)
  }

  /** Reads every topic once more, as the last operation of its history; each read must succeed. */
  async readAll(client: Client): Promise<void> {
    for (const path of this.#paths) {
      const before = this.reads
      await this.#fetch(client, path, true)
      if (this.reads === before)
        throw new Error(`the last read of ${path} was rejected: ${[...this.refused.keys()].join()}`)
    }
  }

  /** Records that every process that had received a request is dead, so a request without a response will no longer be executed. */
  died(): void {
    this.#deathsMs.push(performance.now())
  }

  /** The topics with an impossible history. */
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

  /** The faults in the observed versions of each topic. */
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

  /** Sends a random request; returns false if the next one should wait a little, because there was no response or no effect. */
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

  /** Sets a topic on the condition that it still has the last known value, or adds it if it did not exist. */
  async #compareAndSet(client: Client, path: string, value: Value): Promise<boolean> {
    const swap = { read: this.#lastSeen(path), write: value }
    const body = { path, value, constraint: constraintOf(swap.read) }
    return this.#request(client, 'addAndSet', body, [path], [swap], (status, code) => {
      if (code === 'unsatisfied_constraint') return this.#conflict([{ notRead: swap.read }])
      return status === 200 ? this.#acknowledge(swap) : undefined
    })
  }

  /** Does the same for several topics, all or nothing; some topics are removed instead. */
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
      // The constraints before this operation were satisfied at that instant; those after it were not checked.
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

  /** The value of a topic according to the newest response that reveals it. */
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
   * Sends a request and adds an operation to the history of each path.
   *
   * @param attempts the operation to record for each path without a response; empty for a read
   * @param read returns the meaning of a response for each path; undefined if the response leaves the outcome open
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
        // Record nothing, so that any value that such a write nevertheless left behind shows as a violation.
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

/** A topic in a fetch's response, with its version if the request asked for it. */
interface Result {
  readonly path: string
  readonly value: string
  readonly version?: number
}

/** The meaning of a fetch for a topic. @param result undefined if the topic does not exist */
function seenIn(result: Result | undefined): Meaning {
  return { read: result?.value ?? null, ...(result?.version === undefined ? {} : { version: result.version }) }
}

function constraintOf(value: Value): object {
  return value === null ? { no_topic: true } : { value }
}
