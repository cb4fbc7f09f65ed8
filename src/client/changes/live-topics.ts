/** A Map of topics that stays up to date, with events. During an outage it keeps the last state; afterwards it catches up. */
import type { Item } from '../item.js'
import type { Change, Changes } from './changes.js'
import { type ConnectionEvents, relay, TypedTarget } from './events.js'

/** A change to one topic. */
export interface TopicChange {
  readonly path: string
  /** The topic's new state; undefined if it was removed. */
  readonly item: Item | undefined
}

interface LiveEvents extends ConnectionEvents {
  /** A topic changed; the Map already contains the change. */
  readonly change: CustomEvent<TopicChange>
  /** The Map is a snapshot. */
  readonly complete: Event
  /** Following ended for this reason; the Map no longer changes. */
  readonly error: CustomEvent<unknown>
}

/** Default wait for a connection, in ms: longer than a restart of the service. */
const unconnectedMsMaxDefault = 30_000

/** A live Map of topics, from `Client.follow`. Events: `change`, `complete`, `connected`, `disconnected`, `error`. */
export class LiveTopics extends TypedTarget<LiveEvents> {
  /**
   * Resolves once the current state has loaded. Rejects if following ends earlier, including by `close()`. Also rejects if
   * there is no connection for `timeoutMs` (by default 30 s), but then following continues.
   */
  readonly ready: Promise<void>
  readonly #topics = new Map<string, Item>()
  /** Known paths that have not arrived again after the last `restarted`. */
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
    // The `error` event also reports a failure.
    this.ready.catch(() => {})
  }

  /** The topics by path, in the order in which they first arrived. */
  get topics(): ReadonlyMap<string, Item> {
    return this.#topics
  }

  /** True while the Map is a snapshot, as far as the client knows. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** True if the last attempt received data and has not failed since. */
  get isConnected(): boolean {
    return this.changes.isConnected
  }

  /** Stops following; the Map keeps its last state. */
  close(): void {
    this.controller.abort()
  }

  /** Calls `onTooLong` if there is no connection for `msMax`, initially or in an outage. @returns a function that stops the timer */
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
