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
import { listKeys } from './wire.js'

/** Last uses are to the minute, and others may change keys, too. */
const readMs = 30_000

const columns = ['Name', 'Rights', 'Below', 'Expires', 'Rate', 'Last use'] as const

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
          <tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}<th><span class="unseen">Actions</span></th></tr>
        </thead>
        <tbody>${repeat(
          keys,
          ({ name }) => name,
          (key) => html`<tr>${cellsView(key, key === own)}<td>${this.#actionsView(key)}</td></tr>`,
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
      ${isExpired(expires) ? nothing : rotate}
      <button class="quiet-button danger" aria-label=${`Revoke ${name}`} @click=${() => this.#open({ op: 'revoke', key })}>Revoke…</button>
    </span>`
  }

  #open(subject: Subject): void {
    const { context } = this
    context.dialogs.open((close) => new KeyDialog(subject, context, close, () => void this.#read()))
  }

  async #read(): Promise<void> {
    try {
      this.#keys.value = await listKeys(this.context.session)
      this.#problem.value = ''
    } catch (error) {
      this.#problem.value = describeFailure(error, this.context)
    }
  }
}

function cellsView(key: ListedKeyEntry, isOwn: boolean): TemplateResult {
  const { name, allow, under, expires, rate, used, former_until: formerUntil } = key
  const quiet = (text: string | TemplateResult) => html`<span class="quiet">${text}</span>`
  const expiry = expires === undefined ? quiet('never') : timeView(expires)
  return html`
    <th scope="row">
      <span class="exact">${visible(name)}</span>
      ${isOwn ? quiet('yours') : nothing}
      ${formerUntil === undefined ? nothing : quiet(html`old token until ${timeView(formerUntil)}`)}
    </th>
    <td data-column="Rights">${allow.join(', ')}</td>
    <td data-column="Below">${under.length === 0 ? quiet('everything') : under.map((path) => html`<span class="exact">${visible(path)}</span>`)}</td>
    <td data-column="Expires">${isExpired(expires) ? html`<span class="bad">expired ${expiry}</span>` : expiry}</td>
    <td data-column="Rate">${rate === undefined ? quiet('any') : `${rate.toLocaleString('en')}/s`}</td>
    <td data-column="Last use">${used === undefined ? quiet('none known') : html`<time datetime=${used}>${agoText(used, nowMs.value)}</time>`}</td>
  `
}

function isExpired(expires: string | undefined): boolean {
  return expires !== undefined && Date.parse(expires) <= nowMs.value
}

function timeView(iso: string): TemplateResult {
  return html`<time datetime=${iso}>${timeText(iso)}</time>`
}
