/** What changes of what a selector matches, as it happens: the newest first, until someone pauses it. */
import type { Change, Item } from '../../client/index.js'
import { type Context, describeFailure } from './context.js'
import { shortened } from './value-text.js'

/** Changes that are kept; older ones are dropped. */
const keptMax = 200

/** Of a value that is kept: all that is shown of it. */
const charactersMax = 300

/** A change, and when it was seen here. */
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
  /** Whether something was missed that is no longer known. */
  hasGap = false
  /** Whether every change from now on is seen, once something has connected. */
  #hasBegun = false
  #count = 0
  /** Where to go on; what changes first is what comes after it is shown. */
  #next = 'now'
  #running: AbortController | undefined

  constructor(
    readonly selector: string,
    private readonly context: Context,
  ) {}

  /** Whether it shows what changes as it happens. */
  get isLive(): boolean {
    return this.#hasBegun && !this.isPaused && this.context.outageMs() === undefined
  }

  get isPaused(): boolean {
    return this.#running === undefined
  }

  /** Goes on after what was seen last: what has changed in a pause is shown then. */
  start(): void {
    if (this.#running !== undefined) return
    const running = new AbortController()
    this.#running = running
    this.problem = ''
    void this.#follow(running)
  }

  /** Tries again, unless it is paused. */
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
