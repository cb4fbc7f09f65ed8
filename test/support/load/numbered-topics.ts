/**
 * A store of numbered topics: its lines for an import, and requests to it, sent one at a time over one connection, with known responses. A
 * topic's value contains the number of its writes.
 */
import type { Random } from '../random.js'
import type { Client } from '../service/client.js'
import type { Server } from '../service/server.js'

const requests = 1000
const batches = 500
const batchTopics = 100
const pageTopics = 10
const walkPageTopics = 1000

/** Paths sort by number, in tree order as well. */
function pathOf(number: number): string {
  const digits = String(number).padStart(8, '0')
  return `site/${digits.slice(0, 3)}/line/${digits.slice(3, 6)}/sensor/${digits.slice(6)}`
}

/** @param writes number of writes to the topic after its import */
const valueText = (number: number, writes: number): string =>
  `{"n":${number},"unit":"°C","state":"in service","limit":21.50,"writes":${writes}}`

/** The number of writes to topics after the import; topics without a write are absent. */
type Writes = ReadonlyMap<number, number>

/** The lines of an export after these writes, many at a time. */
export function* linesOf(topics: number, writes: Writes = new Map()): Generator<string> {
  let piece = ''
  for (let number = 0; number < topics; number++) {
    const value = valueText(number, writes.get(number) ?? 0)
    piece += `{"path":"${pathOf(number)}","type":"json","properties":{},"value":${value}}\n`
    if (number % 1000 === 999 || number === topics - 1) {
      yield piece
      piece = ''
    }
  }
  yield `{"end":{"topics":${topics},"keys":0}}\n`
}

/** The duration of each request, in ms. */
export interface Costs {
  readonly fetch: readonly number[]
  /** The first page, and a page at a random position. */
  readonly page: readonly number[]
  readonly deepPage: readonly number[]
  readonly overwrite: readonly number[]
  readonly batch: readonly number[]
}

/** The written topics, which may have been served by several services in turn. */
export class NumberedTopics {
  readonly topics: number
  readonly writes = new Map<number, number>()

  constructor(topics: number) {
    this.topics = topics
  }

  item(number: number): string {
    const value = valueText(number, this.writes.get(number) ?? 0)
    return `{"path":"${pathOf(number)}","type":"json","value":${value}}`
  }

  /** The members of the topic's next write, which counts as done. */
  nextWrite(number: number): string {
    const writes = (this.writes.get(number) ?? 0) + 1
    this.writes.set(number, writes)
    return `"path":"${pathOf(number)}","value":${valueText(number, writes)}`
  }
}

export class Requests {
  readonly #client: Client
  readonly #random: Random
  readonly #numbered: NumberedTopics

  constructor(server: Server, random: Random, numbered: NumberedTopics) {
    this.#client = server.connect()
    this.#random = random
    this.#numbered = numbered
  }

  async costs(): Promise<Costs> {
    return {
      fetch: await this.#times(requests, () => this.#fetch(this.#any())),
      page: await this.#times(requests, () => this.#page(0, pageTopics)),
      deepPage: await this.#times(requests, () => this.#page(this.#any(pageTopics), pageTopics)),
      overwrite: await this.#times(requests, () => this.#overwrite()),
      batch: await this.#times(batches, () => this.#batch()),
    }
  }

  /** Reads every topic once, in pages. */
  async walk(): Promise<void> {
    for (let from = 0; from < this.#numbered.topics; from += walkPageTopics)
      await this.#page(from, Math.min(walkPageTopics, this.#numbered.topics - from))
  }

  /** Fetches a sample of the written topics; each must have its last value. */
  async readBack(): Promise<void> {
    const written = [...this.#numbered.writes.keys()]
    for (let left = requests; left > 0 && written.length > 0; left--) await this.#fetch(this.#random.pick(written))
  }

  /** A number that starts a range of at least `following` topics. */
  #any(following = 1): number {
    return this.#random.below(this.#numbered.topics - following + 1)
  }

  async #times(count: number, request: () => Promise<void>): Promise<readonly number[]> {
    const ms: number[] = []
    for (let i = 0; i < count; i++) {
      const startMs = performance.now()
      await request()
      ms.push(performance.now() - startMs)
    }
    return ms
  }

  async #post(route: string, body: string | object, expected: string): Promise<void> {
    const { status, text } = await this.#client.post(route, body)
    if (status !== 200 || text !== expected) throw new Error(`${route} returned ${status}: ${text}, not ${expected}`)
  }

  async #fetch(number: number): Promise<void> {
    await this.#post('fetch', { path: pathOf(number) }, this.#numbered.item(number))
  }

  /** Fetches the page of `size` topics from number `from` on. */
  async #page(from: number, size: number): Promise<void> {
    const after = from === 0 ? undefined : pathOf(from - 1)
    const items = Array.from({ length: size }, (_, i) => this.#numbered.item(from + i))
    const hasMore = from + size < this.#numbered.topics
    const expected = `{"has_more":${hasMore},"results":[${items.join()}]}`
    await this.#post('fetch', { selector: '*site//', size, after }, expected)
  }

  async #overwrite(): Promise<void> {
    const number = this.#any()
    await this.#post('set', `{${this.#numbered.nextWrite(number)}}`, `{"path":"${pathOf(number)}"}`)
  }

  async #batch(): Promise<void> {
    const numbers = Array.from({ length: batchTopics }, () => this.#any())
    const operations = numbers.map((number) => `{"op":"set",${this.#numbered.nextWrite(number)}}`)
    const results = numbers.map((number) => `{"path":"${pathOf(number)}"}`)
    await this.#post('batch', `{"operations":[${operations}]}`, `{"results":[${results}]}`)
  }
}
