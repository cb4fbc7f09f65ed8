/**
 * A reader of changes, by polling or by a stream that is cut occasionally, which follows the service through restarts and keeps its token.
 * It checks the guarantees: no topic returns to an older value, and a complete state contains each batch as a whole or not at all. It also
 * contains every change that was acknowledged before the request.
 */
import { at } from '../elements.js'
import type { Random } from '../random.js'
import { type ChangedItem, type ChangesPage, ChangesStream, changesPage, Fold } from '../service/changes.js'
import type { Client } from '../service/client.js'
import { batched, type ChangingTree, pause } from './changing-tree.js'
import { follow, type Target } from './follow.js'

/** The topics that one reader follows; every result includes its version. */
export interface Interest {
  readonly selector: string
  readonly type: string
  readonly size: number
  readonly with_values?: boolean
}

interface ChangeReaderOptions {
  readonly interest: Interest
  /** The service's current address, and the reader's key. */
  readonly target: () => Target | undefined
  readonly isStream: boolean
  /** Whether its token may be rejected, because a failover may lose changes that the token covers. */
  readonly mayBeGone: boolean
}

/** Ends of a stream after which a client resumes. */
const passingEnds: readonly (string | undefined)[] = [undefined, 'rotated', 'draining', 'store_unavailable']

export class ChangeReader {
  readonly wrong: string[] = []
  results = 0
  completions = 0
  /** Connections that broke, and streams that ended or were cut. */
  broken = 0
  /** Number of times that its token was rejected, so that it started over. */
  gone = 0
  fold = new Fold()
  readonly #versions = new Map<string, number>()
  #isStopping = false
  #isDone = false
  readonly #loop: Promise<void>

  constructor(
    private readonly options: ChangeReaderOptions,
    private readonly tree: ChangingTree,
    private readonly random: Random,
  ) {
    const { target, isStream } = options
    this.#loop = follow({ target, connections: 2, isOver: () => this.#isDone }, async (client) => {
      try {
        // Poll the last time: a stream would take 15 s to report that nothing has changed.
        await (isStream && !this.#isStopping ? this.#stream() : this.#poll(client))
      } catch (error) {
        this.#onBroken(error)
      }
      await pause(this.random.below(50))
      return true
    })
  }

  /** Reads to the end of the changes. The writers must have stopped. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#loop
  }

  /** Reads pages until the state is complete. */
  async #poll(client: Client): Promise<void> {
    const isLast = this.#isStopping
    let before = new Map(this.tree.acknowledged)
    for (;;) {
      const wait = isLast || this.random.oneIn(3) ? 0 : this.random.below(3)
      this.#take(await changesPage(client, { ...this.#body(), wait, since: this.fold.next }))
      if (this.fold.isComplete) break
      before = new Map(this.tree.acknowledged)
    }
    this.#checkAcknowledged(before)
    this.#isDone = isLast
  }

  /** Reads one stream for a while. */
  async #stream(): Promise<void> {
    const before = new Map(this.tree.acknowledged)
    const target = this.options.target()
    if (target === undefined) return
    const stream = await ChangesStream.open({ ...target, lastEventId: this.fold.next }, this.#body())
    try {
      if (stream.response.statusCode !== 200) throw new Error(`a stream returned ${stream.response.statusCode}`)
      const untilMs = Date.now() + 200 + this.random.below(3000)
      let taken = 0
      let isChecked = false
      while (!stream.isEnded && Date.now() < untilMs) {
        for (; taken < stream.events.length; taken++) {
          const { event, data } = at(stream.events, taken)
          if (event !== 'message') continue
          this.#take(JSON.parse(data) as ChangesPage)
          if (!this.fold.isComplete || isChecked) continue
          this.#checkAcknowledged(before)
          isChecked = true
        }
        await pause(5)
      }
      this.broken++
      const end = stream.end?.code
      if (!passingEnds.includes(end) && !this.#isGone(end)) this.wrong.push(`a stream ended with ${end}`)
    } finally {
      stream.close()
    }
  }

  #body(): object {
    return { ...this.options.interest, with_version: true }
  }

  /** Starts over if the reason is a lost token, which is wrong unless a failover may have lost its position. */
  #isGone(reason = ''): boolean {
    if (!/since_gone|returned 410/.test(reason)) return false
    this.gone++
    if (!this.options.mayBeGone) this.wrong.push(`a token was rejected: ${reason}`)
    this.fold = new Fold()
    this.#versions.clear()
    return true
  }

  #onBroken(error: unknown): void {
    this.broken++
    const { message } = error as Error
    if (this.#isGone(message)) return
    if (!/ECONNRE|EPIPE|socket hang up|aborted|returned 503|"code":"(store_unavailable|draining)"/.test(message))
      this.wrong.push(message)
  }

  #take(page: ChangesPage): void {
    for (const item of page.results) this.#checkVersion(item)
    this.results += page.results.length
    this.fold.take(page)
    if (!this.fold.isComplete) return
    this.completions++
    for (const name of ['one', 'two']) {
      const items = Array.from({ length: batched }, (_, i) => this.fold.topics.get(`batch/${name}/${i}`))
      const values = new Set(items.map((item) => JSON.stringify(item?.value)))
      if (values.size > 1) this.wrong.push(`a part of a batch: ${[...values]}`)
    }
  }

  #checkVersion({ path, version }: ChangedItem): void {
    if (version === undefined) return
    if (version < (this.#versions.get(path) ?? 0)) this.wrong.push(`${path} went back to version ${version}`)
    this.#versions.set(path, version)
  }

  #checkAcknowledged(before: ReadonlyMap<string, number>): void {
    if (this.options.interest.with_values === false) return
    for (const [path, n] of before) {
      const item = this.fold.topics.get(path)
      // No client removes these topics, so a topic that was shown once stays.
      if (item === undefined ? this.#versions.has(path) : Number(item.value) < n)
        this.wrong.push(`${path} was ${n} before the request, and ${item?.value} in the response`)
    }
  }
}
