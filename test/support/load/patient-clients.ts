/**
 * Clients that retry, as docs/http-clients.md requires, for as long as a service may be restarting: publishers that write increasing
 * numbers, each to its own topic, and a follower that polls changes from its last token. They detect lost writes and failed requests.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, Client } from '../service/client.js'

/** Far longer than a restart takes, on a slow machine also. */
const patienceMs = 120_000

const publishers = 16

/** Pause of each client after a request: the load detects failures and leaves the machine's capacity to the upgrade. */
const pauseMs = 10

export class PatientClients {
  /** Requests that failed although they were retried, and wrong responses. */
  readonly failures: string[] = []
  /** Tokens that were rejected with 410. */
  rejectedTokens = 0
  /** Requests with a 200. */
  completed = 0
  readonly #acknowledged = new Map<string, number>()
  readonly #followed = new Map<string, unknown>()
  #stopped = false
  #since: string | undefined
  readonly #loops: Promise<void>[]

  /** @param url the service's current URL, which changes when it restarts elsewhere */
  constructor(
    private readonly url: () => string,
    private readonly token: string,
  ) {
    this.#loops = [this.#follow(), ...Array.from({ length: publishers }, (_, number) => this.#publish(number))]
  }

  /** Resolves after this many more requests have got a 200. */
  async more(requests: number): Promise<void> {
    const wanted = this.completed + requests
    while (this.completed < wanted && this.failures.length === 0) await sleep(pauseMs)
  }

  /** Stops the clients; adds a failure for each acknowledged value that is missing, and for a follower whose state differs. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#loops)
    const client = new Client(this.url(), this.token, 1)
    for (const [path, value] of this.#acknowledged) {
      const { text } = await client.post('fetch', { path })
      if (text !== `{"path":"${path}","type":"json","value":${value}}`) this.failures.push(`${value} is lost: ${text}`)
      if (this.#followed.get(path) !== value) this.failures.push(`followed ${path}: ${this.#followed.get(path)}`)
    }
    client.close()
  }

  async #publish(number: number): Promise<void> {
    const path = `load/${number}`
    for (let value = 1; !this.#stopped; value++) {
      if ((await this.#patiently('addAndSet', { path, value })) !== undefined) this.#acknowledged.set(path, value)
      await sleep(pauseMs)
    }
  }

  /** Ends with a page that starts after all publishers have stopped and has no more. */
  async #follow(): Promise<void> {
    for (let isLast = false; !isLast; ) {
      isLast = this.#stopped
      if (isLast) await Promise.all(this.#loops.slice(1))
      let hasMore = true
      while (hasMore) {
        const body = { selector: '*load//', size: 1000, ...(this.#since === undefined ? {} : { since: this.#since }) }
        const answer = await this.#patiently('changes', body)
        if (answer === undefined) return
        if (answer.status === 410) {
          this.rejectedTokens++
          this.#since = undefined
          this.#followed.clear()
          continue
        }
        const page = JSON.parse(answer.text) as ChangesPage
        for (const { path, value } of page.results) this.#followed.set(path, value)
        this.#since = page.next
        hasMore = page.has_more
      }
      await sleep(pauseMs)
    }
  }

  /** The first 200 or 410 within `patienceMs`; undefined after a failure. */
  async #patiently(route: string, body: object): Promise<Answer | undefined> {
    let last = ''
    for (const endMs = performance.now() + patienceMs; performance.now() < endMs; await sleep(50)) {
      const client = new Client(this.url(), this.token, 1)
      const answer = await client.post(route, body).catch((error: Error) => error)
      client.close()
      if (answer instanceof Error) {
        last = answer.message
        continue
      }
      if (answer.status === 200) this.completed++
      if (answer.status === 200 || answer.status === 410) return answer
      last = `${answer.status} ${answer.text}`
      if (answer.status !== 503) break
    }
    this.failures.push(`${route}: ${last}`)
    return undefined
  }
}

interface ChangesPage {
  readonly has_more: boolean
  readonly next: string
  readonly results: readonly { readonly path: string; readonly value?: unknown }[]
}
