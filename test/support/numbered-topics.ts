/**
 * A store of numbered topics: its lines for an import, and requests to it, one after another on one connection, whose
 * every answer is known.
 */
import type { Client } from './client.js'
import type { Random } from './random.js'
import type { Server } from './server.js'

const requests = 1000
const batches = 100
const batchTopics = 100
const pageTopics = 10

/** In the order of their numbers, which is also the tree's. */
function pathOf(number: number): string {
  const digits = String(number).padStart(8, '0')
  return `site/${digits.slice(0, 3)}/line/${digits.slice(3, 6)}/sensor/${digits.slice(6)}`
}

const valueText = (number: number): string => `{"n":${number},"unit":"°C","state":"in service","limit":21.50}`

/** The lines of an import or export of so many topics, many at a time. */
export function* linesOf(topics: number): Generator<string> {
  let piece = ''
  for (let number = 0; number < topics; number++) {
    piece += `{"path":"${pathOf(number)}","type":"json","properties":{},"value":${valueText(number)}}\n`
    if (number % 1000 === 999 || number === topics - 1) {
      yield piece
      piece = ''
    }
  }
}

const itemOf = (number: number): string => `{"path":"${pathOf(number)}","type":"json","value":${valueText(number)}}`

/** How long each request took, in ms. */
export interface Costs {
  readonly fetch: readonly number[]
  readonly page: readonly number[]
  readonly deepPage: readonly number[]
  readonly overwrite: readonly number[]
  readonly batch: readonly number[]
}

export class Requests {
  readonly #client: Client
  readonly #random: Random
  readonly #topics: number

  constructor(server: Server, random: Random, topics: number) {
    this.#client = server.connect()
    this.#random = random
    this.#topics = topics
  }

  async costs(): Promise<Costs> {
    return {
      fetch: await this.#times(requests, () => this.#fetch()),
      page: await this.#times(requests, () => this.#page(0)),
      deepPage: await this.#times(requests, () => this.#page(this.#any(this.#topics - pageTopics))),
      overwrite: await this.#times(requests, () => this.#overwrite()),
      batch: await this.#times(batches, () => this.#batch()),
    }
  }

  #any(below = this.#topics): number {
    return this.#random.below(below)
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

  async #post(route: string, body: object, expected: string): Promise<void> {
    const { status, text } = await this.#client.post(route, body)
    if (status !== 200 || text !== expected)
      throw new Error(`${route} was answered ${status}: ${text}, not ${expected}`)
  }

  async #fetch(): Promise<void> {
    const number = this.#any()
    await this.#post('fetch', { path: pathOf(number) }, itemOf(number))
  }

  /** The page of the topics from this number on. */
  async #page(from: number): Promise<void> {
    const after = from === 0 ? undefined : pathOf(from - 1)
    const items = Array.from({ length: pageTopics }, (_, i) => itemOf(from + i))
    const body = { selector: '*site//', size: pageTopics, after }
    await this.#post('fetch', body, `{"has_more":true,"results":[${items.join()}]}`)
  }

  /** With its own value, so that every answer stays known. */
  async #overwrite(): Promise<void> {
    const number = this.#any()
    const body = `{"path":"${pathOf(number)}","value":${valueText(number)}}`
    const { status, text } = await this.#client.post('set', body)
    if (status !== 200) throw new Error(`set was answered ${status}: ${text}`)
  }

  async #batch(): Promise<void> {
    const operations = Array.from({ length: batchTopics }, () => {
      const number = this.#any()
      return `{"op":"set","path":"${pathOf(number)}","value":${valueText(number)}}`
    })
    const { status, text } = await this.#client.post('batch', `{"operations":[${operations}]}`)
    if (status !== 200) throw new Error(`batch was answered ${status}: ${text}`)
  }
}
