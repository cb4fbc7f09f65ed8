/** A Map of topics that updates itself, with events. During an outage it keeps the last state, then catches up. */

import type { Item } from '../item.js'
import type { Change, Changes } from './changes.js'
import { type ConnectionEvents, relay, TypedTarget } from './events.js'

/** Without `item`, the topic is gone. */
export interface TopicChange {
  readonly path: string
  readonly item: Item | undefined
}

interface LiveEvents extends ConnectionEvents {
  /** The Map has it. */
  readonly change: CustomEvent<TopicChange>
  /** The Map is the state of one moment. */
  readonly complete: Event
  /** It has ended, for this reason, and the Map stays as it is. */
  readonly error: CustomEvent<unknown>
}

/** The wait for a first connection, in ms, if requests have no time limit: longer than a restart takes. */
const unconnectedMsMaxDefault = 30_000

/** Made by `Client.follow`. Its events: `change`, `complete`, `connected`, `disconnected`, `error`. */
export class LiveTopics extends TypedTarget<LiveEvents> {
  /**
   * Resolves once the current state has loaded. Rejects if following ends before that, by `close()` also; and if there is no
   * connection for as long as a request may take (`timeoutMs`, or 30 s), but then following continues.
   */
  readonly ready: Promise<void>
  readonly #topics = new Map<string, Item>()
  /** Paths that were not shown again after the restart. */
  #unseen = new Set<string>()
  #isComplete = false

  constructor(
    private readonly changes: Changes,
    private readonly controller: AbortController,
    unconnectedMsMax = unconnectedMsMaxDefault,
  ) {
    super()
    this.ready = new Promise((resolve, reject) => {
      this.addEventListener('complete', () => resolve(), { once: true })
      const stop = this.#limit(unconnectedMsMax, reject)
      relay(changes, this)
      void this.#follow().catch((error) => {
        stop()
        reject(error)
      })
    })
    // The `error` event also reports it.
    this.ready.catch(() => {})
  }

  /** By path, in the order of their first arrival. */
  get topics(): ReadonlyMap<string, Item> {
    return this.#topics
  }

  /** True while the Map is a snapshot, as far as is known. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** True if the last attempt got data and nothing has failed after it. */
  get isConnected(): boolean {
    return this.changes.isConnected
  }

  close(): void {
    this.controller.abort()
  }

  /** The time before the first connection counts as an outage. @returns ends the limit */
  #limit(msMax: number, onTooLong: (error: unknown) => void): () => void {
    let error: unknown = new DOMException(`no response within ${msMax} ms`, 'TimeoutError')
    const limit = () => setTimeout(() => onTooLong(error), msMax)
    let timer: ReturnType<typeof limit> | undefined = limit()
    const stop = () => {
      clearTimeout(timer)
      timer = undefined
    }
    this.addEventListener('connected', stop)
    this.addEventListener('disconnected', ({ detail }) => {
      this.#isComplete = false
      error = detail.error
      timer ??= limit()
    })
    return stop
  }

  async #follow(): Promise<void> {
    try {
      for await (const change of this.changes) this.#take(change)
    } catch (error) {
      this.#isComplete = false
      if (!this.controller.signal.aborted) this.dispatchEvent(new CustomEvent('error', { detail: error }))
      this.controller.abort()
      throw error
    }
  }

  #take(change: Change): void {
    if (change.kind !== 'complete') this.#isComplete = false
    switch (change.kind) {
      case 'topic':
        return this.#change(change.path, change.item)
      case 'removed':
        return this.#change(change.path, undefined)
      case 'restarted':
        this.#unseen = new Set(this.#topics.keys())
        return
      case 'complete':
        for (const path of this.#unseen) this.#change(path, undefined)
        this.#isComplete = true
        this.dispatchEvent(new Event('complete'))
    }
  }

  #change(path: string, item: Item | undefined): void {
    this.#unseen.delete(path)
    if (item !== undefined) this.#topics.set(path, item)
    else if (!this.#topics.delete(path)) return
    this.dispatchEvent(new CustomEvent<TopicChange>('change', { detail: { path, item } }))
  }
}
