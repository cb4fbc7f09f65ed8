/**
 * A fixed series of writes and fetches on a service whose disk may fail, and what each topic may hold after it: what was
 * acknowledged, or what a write without an answer would have made of it. What has once been seen must stay.
 */
import type { Client } from '../service/client.js'
import type { Server } from '../service/server.js'

/** A request waits so long at most for a worker that replaces one that died. */
const readyMsMax = 3000

/** By then the primary knows what its worker said. */
const heardMs = 30

const topics = 5

const absent = 'absent'

export class DiskScenario {
  /** What each topic may hold, as JSON text; `absent` for no topic. */
  readonly #expected = new Map<string, readonly string[]>()
  /** The topics of each batch that was sent. */
  readonly #batches: (readonly [string, string])[] = []
  /** Requests that did not succeed. */
  readonly failures: string[] = []
  /** What was wrong. */
  readonly faults: string[] = []
  /** Fetches that succeeded. */
  fetches = 0

  /** @param tree what the paths begin with */
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

  /** @param after what each topic then holds */
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
      this.failures.push(`${route}: no answer`)
    }
    for (const [path, text] of Object.entries(after)) {
      const before = this.#expected.get(path) ?? [absent]
      this.#expected.set(path, status === 200 ? [text] : [...before, text])
    }
    for (const path of Object.keys(after)) await this.#look(client, path).catch(() => {})
  }

  /** Waits a little for a worker, so that a failure costs one request and not all. */
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

  /** Fetches a topic; what it holds must be expected, and from now on it is what it must hold. */
  async #look(client: Client, path: string): Promise<void> {
    const { status, code, text } = await client.post('fetch', { path })
    if (status !== 200 && code !== 'no_such_topic') return
    const found = code === 'no_such_topic' ? absent : (/"value":(.*)\}$/s.exec(text)?.[1] ?? text)
    const expected = this.#expected.get(path) ?? []
    if (!expected.includes(found)) {
      this.faults.push(`${path} is ${found.slice(0, 40)}, not ${expected.map((text) => text.slice(0, 40))}`)
    }
    this.#expected.set(path, [found])
    this.fetches++
  }

  /** Looks at every topic, on a service that works. */
  async check({ client }: Server): Promise<void> {
    const before = this.fetches
    for (const path of this.#expected.keys()) await this.#look(client, path)
    if (this.fetches - before !== this.#expected.size) this.faults.push('a fetch was refused')
    for (const batch of this.#batches) {
      const [first, second] = batch.map((path) => this.#expected.get(path)?.[0] === absent)
      if (first !== second) this.faults.push(`of a batch only ${first ? batch[1] : batch[0]} is there`)
    }
  }
}
