/** The view of the API keys: a table, in which a narrow window has the cells of a row below each other. */
import type { ReadonlySignal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import { repeat } from 'lit-html/directives/repeat.js'
import { nowMs } from '../drawing.js'
import { icon } from '../icons.js'
import { agoText, timeText, visible } from '../value-text.js'
import type { Key } from './wire.js'

/** What the view shows of the panel, and asks of it. */
interface KeyList {
  /** Undefined until they have been read. */
  readonly keys: ReadonlySignal<readonly Key[] | undefined>
  readonly problem: ReadonlySignal<string>
  readonly own: Key | undefined
  create(): void
  rotate(key: Key): void
  revoke(key: Key): void
}

const columns = ['Name', 'Rights', 'Below', 'Expires', 'Rate', 'Last use'] as const

export function keysView(panel: KeyList): TemplateResult {
  const keys = panel.keys.value
  return html`
    <section class="panel" aria-labelledby="keys-title">
      <div class="row">
        <h2 id="keys-title" class="title" tabindex="-1">API keys</h2>
        <button class="primary" @click=${() => panel.create()}>${icon('add')}Create a key…</button>
      </div>
      ${panel.problem.value === '' ? nothing : html`<p class="bad" role="alert">${panel.problem.value}</p>`}
      ${keys === undefined ? html`<p class="quiet">Listing…</p>` : tableView(keys, panel)}
      <p class="quiet">A key that has more than yours is changed on the command line: <code>topicd keys</code>.</p>
    </section>
  `
}

function tableView(keys: readonly Key[], panel: KeyList): TemplateResult {
  return html`
    <table class="rows keys" aria-labelledby="keys-title">
      <thead>
        <tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}<th><span class="unseen">Actions</span></th></tr>
      </thead>
      <tbody>${repeat(
        keys,
        ({ name }) => name,
        (key) => keyView(key, panel),
      )}</tbody>
    </table>
  `
}

function keyView(key: Key, panel: KeyList): TemplateResult {
  const { name, allow, under, rate, used, former_until: formerUntil } = key
  const isOwn = key === panel.own
  return html`
    <tr>
      <th scope="row">
        <span class="exact">${visible(name)}</span>
        ${isOwn ? html`<span class="quiet">yours</span>` : nothing}
        ${formerUntil === undefined ? nothing : html`<span class="quiet">old token until ${timeView(formerUntil)}</span>`}
      </th>
      <td data-column="Rights">${allow.join(', ')}</td>
      <td data-column="Below">${under.length === 0 ? html`<span class="quiet">everything</span>` : under.map((path) => html`<span class="exact">${visible(path)}</span>`)}</td>
      <td data-column="Expires">${expiryView(key)}</td>
      <td data-column="Rate">${rate === undefined ? html`<span class="quiet">any</span>` : `${rate.toLocaleString('en')}/s`}</td>
      <td data-column="Last use">${used === undefined ? html`<span class="quiet">none known</span>` : html`<time datetime=${used}>${agoText(used, nowMs.value)}</time>`}</td>
      <td>${actionsView(key, panel)}</td>
    </tr>`
}

function expiryView({ expires }: Key): TemplateResult {
  if (expires === undefined) return html`<span class="quiet">never</span>`
  return isExpired(expires) ? html`<span class="bad">expired ${timeView(expires)}</span>` : timeView(expires)
}

function isExpired(expires: string): boolean {
  return Date.parse(expires) <= nowMs.value
}

function timeView(iso: string): TemplateResult {
  return html`<time datetime=${iso}>${timeText(iso)}</time>`
}

function actionsView(key: Key, panel: KeyList): TemplateResult {
  const { name, beyond, expires } = key
  if (beyond !== undefined) return html`<span class="quiet">More than your key: ${beyond}</span>`
  const rotate = html`<button class="quiet-button" aria-label=${`Rotate ${visible(name)}`} @click=${() => panel.rotate(key)}>Rotate…</button>`
  return html`<span class="row">
    ${expires !== undefined && isExpired(expires) ? nothing : rotate}
    <button class="quiet-button danger" aria-label=${`Revoke ${visible(name)}`} @click=${() => panel.revoke(key)}>Revoke…</button>
  </span>`
}
