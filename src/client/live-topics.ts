/**
 * Topics that keep themselves up to date: a Map, and events for those who show it. What is missed while the connection is
 * away is made up for; until then the Map has what was known last.
 */
import type { Change, Changes } from './changes.js'
import type { Item } from './item.js'

/** The details of the event `change`: a topic that is new or has changed, or, without `item`, one that is gone. */
export interface TopicChange {
  readonly path: string
  readonly item: Item | undefined
}

/**
 * Made by `Client.follow`. Its events:
 *
 *     change     a CustomEvent<TopicChange>, once the Map has it
 *     complete   the Map is the state of one moment
 *     error      a CustomEvent<unknown>: it has ended, for this reason, and the Map stays as it is
 */
export class LiveTopics extends EventTarget {
  /** Resolves once the present state is there; rejects if it ends before that, for whatever reason. */
  readonly ready: Promise<void>
  readonly #topics = new Map<string, Item>()
  /** The paths that were not shown again since it was restarted. */
  #unseen = new Set<string>()
  #isComplete = false

  constructor(
    changes: Changes,
    private readonly controller: AbortController,
  ) {
    super()
    this.ready = new Promise((resolve, reject) => {
      this.addEventListener('complete', () => resolve(), { once: true })
      void this.#follow(changes, reject)
    })
    // Whoever does not wait for it hears of the error by its event.
    this.ready.catch(() => {})
  }

  /** By their paths, in the order in which they first came. */
  get topics(): ReadonlyMap<string, Item> {
    return this.#topics
  }

  /** Whether the Map is the state of one moment, as far as is known. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** Ends it. */
  close(): void {
    this.controller.abort()
  }

  async #follow(changes: Changes, onEnd: (error: unknown) => void): Promise<void> {
    try {
      for await (const change of changes) this.#take(change)
    } catch (error) {
      this.#isComplete = false
      onEnd(error)
      if (!this.controller.signal.aborted) this.dispatchEvent(new CustomEvent('error', { detail: error }))
      this.controller.abort()
    }
  }

  #take(change: Change): void {
    switch (change.kind) {
      case 'topic':
        this.#isComplete = false
        return this.#change(change.path, change.item)
      case 'removed':
        this.#isComplete = false
        return this.#change(change.path, undefined)
      case 'restarted':
        this.#isComplete = false
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
