/**
 * The table of API keys, which is read again after each change and at intervals. A narrow window stacks the cells of a row.
 * Changing a key opens a dialog.
 */
import { signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import { repeat } from 'lit-html/directives/repeat.js'
import type { KeysBody, ListedKeyEntry } from '../../../api/bodies/key-bodies.js'
import { formatWhole, minutesAgoText, timeText, utcText } from '../../shared/formats.js'
import type { Context, Panel } from '../context.js'
import { focusLater, nowMs, whileSeen } from '../drawing.js'
import { alertView } from '../failures.js'
import { icon } from '../icons.js'
import { ask } from '../session.js'
import { Task } from '../task.js'
import { visible } from '../value-text.js'
import { KeyDialog, type Subject } from './key-dialog.js'

/** Interval between readings, in ms: the last use is recorded once a minute, and others may also change keys. */
const readMs = 30_000

const quiet = (text: unknown): TemplateResult => html`<span class="quiet">${text}</span>`

const exact = (text: string): TemplateResult => html`<span class="exact">${visible(text)}</span>`

/** The columns after the name. */
const columns: readonly (readonly [head: string, cell: (key: ListedKeyEntry) => unknown])[] = [
  ['Permissions', ({ allow }) => allow.join(', ')],
  ['Below', ({ under }) => (under.length === 0 ? quiet('everything') : under.map(exact))],
  ['Expires', expiryView],
  ['Rate', ({ rate }) => (rate === undefined ? quiet('any') : `${formatWhole(rate)}/s`)],
  [
    'Last use',
    ({ used }) => (used === undefined ? quiet('none known') : timeView(used, minutesAgoText(used, nowMs.value))),
  ],
]

export class KeysPanel implements Panel {
  readonly title = 'API keys'
  /** Undefined until the keys have been read. */
  readonly #keys = signal<readonly ListedKeyEntry[] | undefined>(undefined)
  readonly #reading = new Task()
  /** The number of requests so far; only the response to the last one is shown. */
  #asked = 0
  readonly leave = whileSeen(readMs, () => this.#read())

  constructor(private readonly context: Context) {
    const focus = focusLater()
    void this.#read().then(() => focus('#keys-title'))
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
        ${alertView(this.#reading.problem.value)}
        ${keys === undefined ? html`<p class="quiet">Listing…</p>` : this.#tableView(keys, own)}
        <p class="quiet">To change a key that exceeds yours, use the command line: <code>topicd keys</code>.</p>
      </section>
    `
  }

  #tableView(keys: readonly ListedKeyEntry[], own: ListedKeyEntry | undefined): TemplateResult {
    return html`
      <table class="rows keys" aria-labelledby="keys-title">
        <thead>
          <tr>${['Name', ...columns.map(([head]) => head)].map((head) => html`<th scope="col">${head}</th>`)}<th scope="col" aria-label="Actions"></th></tr>
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
    if (beyond !== undefined) return html`<span class="quiet">Exceeds your key: ${beyond}</span>`
    const name = visible(key.name)
    const rotate = html`<button class="quiet-button" aria-label=${`Rotate ${name}`} @click=${() => this.#open({ op: 'rotate', key })}>Rotate…</button>`
    return html`<span class="row">
      ${expires !== undefined && isExpired(expires) ? nothing : rotate}
      <button class="quiet-button danger" aria-label=${`Revoke ${name}`} @click=${() => this.#open({ op: 'revoke', key })}>Revoke…</button>
    </span>`
  }

  #open(subject: Subject): void {
    const { context } = this
    context.dialogs.shown.value = new KeyDialog(subject, context, () => void this.#read())
  }

  #read(): Promise<void> {
    const asked = ++this.#asked
    return this.#reading.attempt(this.context, async () => {
      const list: KeysBody = { op: 'list' }
      const listed = await ask<{ readonly keys: readonly ListedKeyEntry[] }>(this.context.session, 'keys', list)
      if (asked === this.#asked) this.#keys.value = listed.keys
    })
  }
}

function isExpired(expires: string): boolean {
  return Date.parse(expires) <= nowMs.value
}

function expiryView({ expires }: ListedKeyEntry): TemplateResult {
  if (expires === undefined) return quiet('never')
  const time = timeView(expires, utcText(expires))
  return isExpired(expires) ? html`<span class="bad">expired ${time}</span>` : time
}

function timeView(iso: string, text = timeText(iso)): TemplateResult {
  return html`<time datetime=${iso}>${text}</time>`
}
