/** The live changes to a selector's matches, the newest first, until the user pauses. */
import { signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import { repeat } from 'lit-html/directives/repeat.js'
import type { Change } from '../../client/index.js'
import { timeText } from '../shared/formats.js'
import { addressOfPath, addressOfSelector } from './address.js'
import type { Context, Panel } from './context.js'
import { focusLater } from './drawing.js'
import { alertView, describeFailure } from './failures.js'
import { timeOf } from './live/names.js'
import { shortened, visible } from './value-text.js'

/** Older changes are dropped. */
const keptMax = 200

/** Maximum length of a value, as shown and kept. */
const charactersMax = 300

interface SeenChange {
  readonly number: number
  /** Undefined for a gap: unlisted changes before it are no longer available. */
  readonly path: string | undefined
  /** The start of the value's JSON text; null if the topic has no value, undefined if it was removed. */
  readonly text: string | null | undefined
  /** The time from `timeOf`. */
  readonly iso: string
}

export class ChangesPanel implements Panel {
  /** The newest first. */
  readonly #seen = signal<readonly SeenChange[]>([])
  readonly #problem = signal('')
  /** True once the stream is established, so that no later change is missed. */
  readonly #hasBegun = signal(false)
  readonly #isPaused = signal(false)
  #count = 0
  /** The token from which the next stream starts; initially `now`, to show only later changes. */
  #next = 'now'
  #running = new AbortController()

  constructor(
    private readonly selector: string,
    private readonly context: Context,
  ) {
    this.#resume()
    focusLater()('#changes-title')
  }

  get title(): string {
    return `Changes to ${visible(this.selector)}`
  }

  leave(): void {
    this.#running.abort()
  }

  #pause(): void {
    this.#running.abort()
    this.#isPaused.value = true
  }

  /** Continues after the last seen change, so the changes during a pause are shown. */
  #resume(): void {
    this.#running = new AbortController()
    this.#isPaused.value = false
    this.#problem.value = ''
    void this.#follow(this.#running.signal)
  }

  async #follow(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) await this.#followOnce(signal)
    } catch (error) {
      if (signal.aborted) return
      this.#isPaused.value = true
      this.#problem.value = describeFailure(error, this.context)
    }
  }

  /** Returns if changes were missed, because the current state that follows does not show them. */
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
      this.#hasBegun.value = true
      return
    }
    const item = change.kind === 'topic' ? change.item : undefined
    const entry = {
      number: ++this.#count,
      path: change.kind === 'restarted' ? undefined : change.path,
      // Copied, because a substring would keep the whole page's text in memory.
      text: item && (item.text === undefined ? null : structuredClone(shortened(item.text, charactersMax))),
      iso: timeOf(item),
    }
    this.#seen.value = [entry, ...this.#seen.peek()].slice(0, keptMax)
  }

  view(): TemplateResult {
    const { selector } = this
    const seen = this.#seen.value
    const isPaused = this.#isPaused.value
    return html`
      <section class="panel" aria-labelledby="changes-title">
        <h2 id="changes-title" tabindex="-1">Changes to <bdi class="exact">${visible(selector)}</bdi></h2>
        ${alertView(this.#problem.value)}
        <p class="row">
          <button aria-pressed=${isPaused} @click=${() => (this.#isPaused.peek() ? this.#resume() : this.#pause())}>${isPaused ? 'Resume' : 'Pause'}</button>
          <a href=${addressOfSelector(selector)}>Show the topics</a>
          <span class="quiet" role="status">${this.#status()}</span>
        </p>
        ${seen.length === 0 ? nothing : changesTable(seen)}
      </section>
    `
  }

  #status(): string {
    if (this.#isPaused.value) return 'Paused'
    const isLive = this.#hasBegun.value && this.context.names.outage.value === undefined
    return isLive && this.#seen.value.length === 0 ? 'Nothing has changed yet.' : ''
  }
}

function changesTable(seen: readonly SeenChange[]): TemplateResult {
  return html`
    <table class="rows changes">
      <thead>
        <tr><th scope="col">Path</th><th scope="col">Value</th><th scope="col">Time</th></tr>
      </thead>
      <tbody>${repeat(seen, ({ number }) => number, changeView)}</tbody>
    </table>
  `
}

function changeView({ path, text, iso }: SeenChange): TemplateResult {
  if (path === undefined)
    return html`<tr><td colspan="3" class="notice">Some changes at this point are no longer available.</td></tr>`
  return html`
    <tr class="changed-1">
      <td><a class="exact" href=${addressOfPath(path)}>${visible(path)}</a></td>
      <td>${text === undefined ? html`<span class="bad">removed</span>` : valueView(text)}</td>
      <td class="quiet">${text === undefined ? 'about ' : ''}<time datetime=${iso}>${timeText(iso)}</time></td>
    </tr>`
}

function valueView(text: string | null): TemplateResult {
  return text === null ? html`<span class="quiet">no value</span>` : html`<span class="exact">${text}</span>`
}
