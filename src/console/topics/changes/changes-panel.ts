/** The changes of a selector's matches as they happen: the newest first, until the user pauses. */
import { signal } from '@preact/signals-core'
import type { Change } from '../../../client/index.js'
import type { Context, Panel } from '../context.js'
import { focusLater } from '../drawing.js'
import { describeFailure } from '../failures.js'
import { shortened, visible } from '../value-text.js'

/** Older changes are dropped. */
const keptMax = 200

/** All that is shown, and so kept, of a value. */
const charactersMax = 300

export interface SeenChange {
  readonly number: number
  /** Undefined for a gap: what came before it and is not listed is no longer known. */
  readonly path: string | undefined
  /** The beginning of the value's JSON text; null without a value, undefined for a topic that is gone. */
  readonly text: string | null | undefined
  /** When it was made, ISO 8601; undefined where the service does not say. */
  readonly updated: string | undefined
  readonly seenMs: number
}

export class ChangesPanel implements Panel {
  /** The newest first. */
  readonly seen = signal<readonly SeenChange[]>([])
  readonly problem = signal('')
  /** False until something has connected; from then on every change is seen. */
  readonly hasBegun = signal(false)
  readonly isPaused = signal(false)
  #count = 0
  /** The start of the next stream; at first, only later changes are shown. */
  #next = 'now'
  #running = new AbortController()

  constructor(
    readonly selector: string,
    readonly context: Context,
  ) {
    this.resume()
    focusLater()('#changes-title')
  }

  get title(): string {
    return `Changes of ${visible(this.selector)}`
  }

  /** Its values are those of the changes. */
  shownPaths(): readonly string[] {
    return []
  }

  leave(): void {
    this.#running.abort()
  }

  pause(): void {
    this.#running.abort()
    this.isPaused.value = true
  }

  /** After the last seen change, so the changes of a pause are shown. */
  resume(): void {
    this.#running = new AbortController()
    this.isPaused.value = false
    this.problem.value = ''
    void this.#follow(this.#running.signal)
  }

  async #follow(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) await this.#followOnce(signal)
    } catch (error) {
      if (signal.aborted) return
      this.isPaused.value = true
      this.problem.value = describeFailure(error, this.context)
    }
  }

  /** Until changes were missed: what follows then is the present state, which says nothing of what has changed. */
  async #followOnce(signal: AbortSignal): Promise<void> {
    const { client } = this.context.session
    const options = { since: this.#next, type: 'any', with_version: true, signal } as const
    const changes = client.changes(this.selector, options)
    for await (const change of changes) {
      this.#take(change)
      this.#next = change.kind === 'restarted' ? 'now' : (changes.next ?? this.#next)
      if (change.kind === 'restarted') return
    }
  }

  #take(change: Change): void {
    if (change.kind === 'complete') {
      this.hasBegun.value = true
      return
    }
    const item = change.kind === 'topic' ? change.item : undefined
    const entry = {
      number: ++this.#count,
      path: change.kind === 'restarted' ? undefined : change.path,
      // A copy, as a part of the text would keep all of it, and that of its page, in memory.
      text: item && (item.text === undefined ? null : structuredClone(shortened(item.text, charactersMax))),
      updated: item?.updated,
      seenMs: Date.now(),
    }
    this.seen.value = [entry, ...this.seen.peek()].slice(0, keptMax)
  }
}
