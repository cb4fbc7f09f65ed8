/**
 * A fixed series of writes and fetches on a service whose disk may fail. Afterwards each topic must have the acknowledged value, or the
 * value of a write without a response. A value that was once fetched must stay.
 */
import type { Client } from '../service/client.js'
import type { Server } from '../service/server.js'

/** Maximum time that a request waits for the replacement of a worker that died. */
const readyMsMax = 3000

/** Time after which the primary has processed its worker's messages. */
const heardMs = 30

const topics = 5

const absent = 'absent'

export class DiskScenario {
  /** The possible values of each topic, as JSON text; `absent` for no topic. */
  readonly #expected = new Map<string, readonly string[]>()
  /** The topics of each batch that was sent. */
  readonly #batches: (readonly [string, string])[] = []
  /** Requests that did not succeed. */
  readonly failures: string[] = []
  /** Violations that were found. */
  readonly faults: string[] = []
  /** Fetches that succeeded. */
  fetches = 0

  /** @param tree the first level of all paths */
  async run(server: Server, tree: string): Promise<void> {
    const client = server.connect()
    const write = (route: string, body: object, after: Readonly<Record<string, string>>) =>
      this.#write(server, client, route, body, after)
    for (let i = 0; i < topics; i++) {
      const [a, b, c] = ['a', 'b', 'c'].map((branch) => `${tree}/${branch}/${i}`) as [string, string, string]
      const text = String(i).repeat(3000)
      await write('addAndSet', { path: a, value: text }, { [a]: JSON.stringify(text) })
      await write('set', { path: a, value: i }, { [a]: String(i) })
      this.#batches.push([b, c])
      const operations = [b, c].map((path) => ({ op: 'addAndSet', path, value: i }))
      await write('batch', { operations }, { [b]: String(i), [c]: String(i) })
      if (i % 2 === 1) await write('remove', { path: a }, { [a]: absent })
    }
  }

  /** @param after the topics' values after a successful write */
  async #write(
    server: Server,
    client: Client,
    route: string,
    body: object,
    after: Readonly<Record<string, string>>,
  ): Promise<void> {
    await this.#ready(server)
    let status: number | undefined
    try {
      const answer = await client.post(route, body)
      status = answer.status
      if (status !== 200) this.failures.push(`${route}: ${answer.text}`)
    } catch {
      this.failures.push(`${route}: no response`)
    }
    for (const [path, text] of Object.entries(after)) {
      const before = this.#expected.get(path) ?? [absent]
      this.#expected.set(path, status === 200 ? [text] : [...before, text])
    }
    for (const path of Object.keys(after)) await this.#look(client, path).catch(() => {})
  }

  /** Waits briefly for a worker, so that a failure costs one request, not all. */
  async #ready(server: Server): Promise<void> {
    if (this.failures.length > 0) await new Promise((resolve) => setTimeout(resolve, heardMs))
    for (const endMs = performance.now() + readyMsMax; performance.now() < endMs && server.running; ) {
      const isReady = await fetch(`${server.adminUrl}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      )
      if (isReady) return
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  /** Fetches a topic. Its value must be one of the expected values, and becomes the only expected value. */
  async #look(client: Client, path: string): Promise<void> {
    const { status, code, text } = await client.post('fetch', { path })
    if (status !== 200 && code !== 'no_such_topic') return
    const found = code === 'no_such_topic' ? absent : (/"value":(.*)\}$/s.exec(text)?.[1] ?? text)
    const expected = this.#expected.get(path) ?? []
    if (!expected.includes(found)) {
      this.faults.push(`${path} has ${found.slice(0, 40)}, not ${expected.map((text) => text.slice(0, 40))}`)
    }
    this.#expected.set(path, [found])
    this.fetches++
  }

  /** Fetches every topic, on a service that works. */
  async check({ client }: Server): Promise<void> {
    const before = this.fetches
    for (const path of this.#expected.keys()) await this.#look(client, path)
    if (this.fetches - before !== this.#expected.size) this.faults.push('a fetch was rejected')
    for (const batch of this.#batches) {
      const [first, second] = batch.map((path) => this.#expected.get(path)?.[0] === absent)
      if (first !== second) this.faults.push(`only ${first ? batch[1] : batch[0]} of a batch exists`)
    }
  }
}
