/**
 * A reader of changes, by polls or by a stream that is cut now and then, which goes on after every broken connection, and
 * checks what it is promised: no topic goes back, what is complete has all of a batch or nothing, and has every
 * change that was acknowledged before its request.
 */
import type { Random } from '../random.js'
import { type ChangedItem, type ChangesPage, ChangesStream, changesPage, Fold } from '../service/changes.js'
import type { Server } from '../service/server.js'
import { batched, type ChangingTree, pause } from './changing-tree.js'

/** What one reader wants to know; every result shows its version. */
export interface Interest {
  readonly selector: string
  readonly type: string
  readonly size: number
  readonly with_values?: boolean
}

export class ChangeReader {
  readonly wrong: string[] = []
  results = 0
  completions = 0
  /** Connections that broke, and streams that were ended or cut. */
  broken = 0
  fold = new Fold()
  readonly #versions = new Map<string, number>()
  #isStopping = false
  readonly #loop: Promise<void>

  constructor(
    private readonly server: Server,
    private readonly tree: ChangingTree,
    private readonly interest: Interest,
    private readonly random: Random,
    private readonly token: string,
    isStream: boolean,
  ) {
    this.#loop = isStream ? this.#stream() : this.#poll()
  }

  /** Reads to the end of what has changed. The writers must have stopped. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#loop
  }

  async #poll(): Promise<void> {
    const client = this.server.connect(2, this.token)
    for (;;) {
      const isLast = this.#isStopping
      const before = new Map(this.tree.acknowledged)
      try {
        const wait = isLast || this.random.oneIn(3) ? 0 : this.random.below(3)
        this.#take(await changesPage(client, { ...this.#body(), wait, since: this.fold.next }))
        if (!this.fold.isComplete) continue
        this.#checkAcknowledged(before)
        if (isLast) return
      } catch (error) {
        this.#onBroken(error)
      }
      await pause(this.random.below(50))
    }
  }

  async #stream(): Promise<void> {
    for (;;) {
      const isLast = this.#isStopping
      const before = new Map(this.tree.acknowledged)
      try {
        const request = { url: this.server.url, token: this.token, lastEventId: this.fold.next }
        const stream = await ChangesStream.open(request, this.#body())
        if (stream.response.statusCode !== 200) throw new Error(`a stream was answered ${stream.response.statusCode}`)
        const untilMs = Date.now() + 200 + this.random.below(3000)
        let taken = 0
        let isChecked = false
        while (!stream.isEnded && (isLast ? !isChecked : Date.now() < untilMs)) {
          for (; taken < stream.pages.length; taken++) {
            this.#take(stream.pages[taken] as ChangesPage)
            if (!this.fold.isComplete || isChecked) continue
            this.#checkAcknowledged(before)
            isChecked = true
          }
          await pause(5)
        }
        stream.close()
        this.broken++
        if (isLast && isChecked) return
      } catch (error) {
        this.#onBroken(error)
        await pause(50)
      }
    }
  }

  #body(): object {
    return { ...this.interest, with_version: true }
  }

  #onBroken(error: unknown): void {
    this.broken++
    const { message } = error as Error
    if (!/ECONNRE|socket hang up|aborted|answered 503|"code":"(store_unavailable|draining)"/.test(message))
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
      if (values.size > 1 && items.every((item) => item !== undefined))
        this.wrong.push(`a part of a batch: ${[...values]}`)
    }
  }

  #checkVersion({ path, version }: ChangedItem): void {
    if (version === undefined) return
    if (version < (this.#versions.get(path) ?? 0)) this.wrong.push(`${path} went back to version ${version}`)
    this.#versions.set(path, version)
  }

  #checkAcknowledged(before: ReadonlyMap<string, number>): void {
    if (this.interest.with_values === false) return
    for (const [path, n] of before) {
      const item = this.fold.topics.get(path)
      if (item !== undefined && Number(item.value) < n)
        this.wrong.push(`${path} was ${n} before the request, and ${item.value} in the answer`)
    }
  }
}
