/** The changes of a selector's matches as they happen: the newest first, until the user pauses. */
import type { Change, Item } from '../../client/index.js'
import { type Context, describeFailure } from './context.js'
import { shortened } from './value-text.js'

/** Older changes are dropped. */
const keptMax = 200

/** All that is shown, and so kept, of a value. */
const charactersMax = 300

export interface SeenChange {
  readonly number: number
  readonly path: string
  /** The beginning of the value's JSON text; null without a value, undefined for a topic that is gone. */
  readonly text: string | null | undefined
  readonly seenMs: number
}

export class ChangesPanel {
  /** The newest first. */
  seen: readonly SeenChange[] = []
  problem = ''
  /** True if missed changes are no longer known. */
  hasGap = false
  /** False until something has connected; from then on every change is seen. */
  #hasBegun = false
  #count = 0
  /** The start of the next stream; at first, only later changes are shown. */
  #next = 'now'
  #running: AbortController | undefined

  constructor(
    readonly selector: string,
    private readonly context: Context,
  ) {}

  get isLive(): boolean {
    return this.#hasBegun && !this.isPaused && this.context.outageMs() === undefined
  }

  get isPaused(): boolean {
    return this.#running === undefined
  }

  /** Resumes after the last seen change, so the changes of a pause are shown. */
  start(): void {
    if (this.#running !== undefined) return
    const running = new AbortController()
    this.#running = running
    this.problem = ''
    void this.#follow(running)
  }

  /** Does nothing while it is paused. */
  reconnect(): void {
    if (this.isPaused) return
    this.pause()
    this.start()
  }

  pause(): void {
    this.#running?.abort()
    this.#running = undefined
    this.context.changed()
  }

  async #follow(running: AbortController): Promise<void> {
    const { signal } = running
    const changes = this.context.session.client.changes(this.selector, { since: this.#next, type: 'any', signal })
    try {
      for await (const change of changes) {
        if (this.#running !== running) return
        this.#take(change)
        this.#next = changes.next ?? this.#next
      }
    } catch (error) {
      if (this.#running !== running) return
      this.#running = undefined
      this.problem = describeFailure(error, this.context)
    }
    this.context.changed()
  }

  #take(change: Change): void {
    if (change.kind === 'complete') {
      if (this.#hasBegun) return
      this.#hasBegun = true
    } else if (change.kind === 'restarted') this.hasGap = true
    else {
      const text = change.kind === 'topic' ? beginningOf(change.item) : undefined
      const entry = { number: ++this.#count, path: change.path, text, seenMs: Date.now() }
      this.seen = [entry, ...this.seen].slice(0, keptMax)
    }
    this.context.changed()
  }
}

/** A copy, as a part of the text would keep all of it, and that of its page, in memory. */
function beginningOf({ text }: Item): string | null {
  return text === undefined ? null : structuredClone(shortened(text, charactersMax))
}
