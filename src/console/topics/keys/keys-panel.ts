/**
 * The API keys, read again after each change and now and then, as a table, in which a narrow window has the cells of a row below
 * each other. Each change has its dialog.
 */
import { signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import { repeat } from 'lit-html/directives/repeat.js'
import type { ListedKeyEntry } from '../../../api/bodies/key-bodies.js'
import type { Context, Panel } from '../context.js'
import { focusLater, nowMs } from '../drawing.js'
import { describeFailure } from '../failures.js'
import { icon } from '../icons.js'
import { agoText, timeText, visible } from '../value-text.js'
import { KeyDialog } from './key-dialog.js'
import type { Subject } from './key-fields.js'
import { askKeys } from './wire.js'

/** Last uses are to the minute, and others may change keys, too. */
const readMs = 30_000

const quiet = (text: unknown): TemplateResult => html`<span class="quiet">${text}</span>`

const exact = (text: string): TemplateResult => html`<span class="exact">${visible(text)}</span>`

/** After the name. */
const columns: readonly (readonly [head: string, cell: (key: ListedKeyEntry) => unknown])[] = [
  ['Rights', ({ allow }) => allow.join(', ')],
  ['Below', ({ under }) => (under.length === 0 ? quiet('everything') : under.map(exact))],
  ['Expires', expiryView],
  ['Rate', ({ rate }) => (rate === undefined ? quiet('any') : `${rate.toLocaleString('en')}/s`)],
  ['Last use', ({ used }) => (used === undefined ? quiet('none known') : timeView(used, agoText(used, nowMs.value)))],
]

export class KeysPanel implements Panel {
  readonly title = 'API keys'
  /** Undefined until they have been read. */
  readonly #keys = signal<readonly ListedKeyEntry[] | undefined>(undefined)
  readonly #problem = signal('')
  readonly #reading: ReturnType<typeof setInterval>

  constructor(private readonly context: Context) {
    this.#reading = setInterval(() => document.hidden || void this.#read(), readMs)
    const focus = focusLater()
    void this.#read().then(() => focus('#keys-title'))
  }

  leave(): void {
    clearInterval(this.#reading)
  }

  shownPaths(): readonly string[] {
    return []
  }

  view(): TemplateResult {
    const keys = this.#keys.value
    const own = keys?.find(({ name }) => name === this.context.session.key.name)
    return html`
      <section class="panel" aria-labelledby="keys-title">
        <div class="row">
          <h2 id="keys-title" class="title" tabindex="-1">API keys</h2>
          <button class="primary" @click=${() => this.#open({ op: 'create', own })}>${icon('add')}Create a key…</button>
        </div>
        ${this.#problem.value === '' ? nothing : html`<p class="bad" role="alert">${this.#problem.value}</p>`}
        ${keys === undefined ? html`<p class="quiet">Listing…</p>` : this.#tableView(keys, own)}
        <p class="quiet">A key that has more than yours is changed on the command line: <code>topicd keys</code>.</p>
      </section>
    `
  }

  #tableView(keys: readonly ListedKeyEntry[], own: ListedKeyEntry | undefined): TemplateResult {
    return html`
      <table class="rows keys" aria-labelledby="keys-title">
        <thead>
          <tr>${['Name', ...columns.map(([head]) => head)].map((head) => html`<th scope="col">${head}</th>`)}<th><span class="unseen">Actions</span></th></tr>
        </thead>
        <tbody>${repeat(
          keys,
          ({ name }) => name,
          (key) => html`<tr>
            <th scope="row">${exact(key.name)}${key === own ? quiet('yours') : nothing}${key.former_until === undefined ? nothing : quiet(html`old token until ${timeView(key.former_until)}`)}</th>
            ${columns.map(([head, cell]) => html`<td data-column=${head}>${cell(key)}</td>`)}
            <td>${this.#actionsView(key)}</td>
          </tr>`,
        )}</tbody>
      </table>
    `
  }

  #actionsView(key: ListedKeyEntry): TemplateResult {
    const { beyond, expires } = key
    if (beyond !== undefined) return html`<span class="quiet">More than your key: ${beyond}</span>`
    const name = visible(key.name)
    const rotate = html`<button class="quiet-button" aria-label=${`Rotate ${name}`} @click=${() => this.#open({ op: 'rotate', key })}>Rotate…</button>`
    return html`<span class="row">
      ${expires !== undefined && isExpired(expires) ? nothing : rotate}
      <button class="quiet-button danger" aria-label=${`Revoke ${name}`} @click=${() => this.#open({ op: 'revoke', key })}>Revoke…</button>
    </span>`
  }

  #open(subject: Subject): void {
    const { context } = this
    context.dialogs.open((close) => new KeyDialog(subject, context, close, () => void this.#read()))
  }

  async #read(): Promise<void> {
    try {
      const { keys } = await askKeys<{ readonly keys: readonly ListedKeyEntry[] }>(this.context.session, { op: 'list' })
      this.#keys.value = keys
      this.#problem.value = ''
    } catch (error) {
      this.#problem.value = describeFailure(error, this.context)
    }
  }
}

function isExpired(expires: string): boolean {
  return Date.parse(expires) <= nowMs.value
}

function expiryView({ expires }: ListedKeyEntry): TemplateResult {
  if (expires === undefined) return quiet('never')
  return isExpired(expires) ? html`<span class="bad">expired ${timeView(expires)}</span>` : timeView(expires)
}

function timeView(iso: string, text = timeText(iso)): TemplateResult {
  return html`<time datetime=${iso}>${text}</time>`
}
