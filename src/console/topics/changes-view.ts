/** The view of a selector's changes. */

import { html, nothing, type TemplateResult } from 'lit-html'
import { repeat } from 'lit-html/directives/repeat.js'
import { addressOfPath, addressOfSelector } from './address.js'
import type { ChangesPanel, SeenChange } from './changes-panel.js'
import { timeText, visible } from './value-text.js'

export function changesView(panel: ChangesPanel): TemplateResult {
  const { selector, seen, problem, isPaused, hasGap } = panel
  const toggle = () => (isPaused ? panel.start() : panel.pause())
  return html`
    <section class="panel" aria-labelledby="changes-title">
      <h2 id="changes-title" tabindex="-1">Changes of <bdi class="exact">${visible(selector)}</bdi></h2>
      ${problem === '' ? nothing : html`<p class="bad" role="alert">${problem}</p>`}
      ${hasGap ? html`<p class="notice">Some changes in between are no longer known.</p>` : nothing}
      <p class="row">
        <button aria-pressed=${isPaused} @click=${toggle}>${isPaused ? 'Resume' : 'Pause'}</button>
        <a href=${addressOfSelector(selector)}>Show the topics</a>
        <span class="quiet" role="status">${statusText(panel)}</span>
      </p>
      ${seen.length === 0 ? nothing : changesTable(seen)}
    </section>
  `
}

function statusText({ seen, isPaused, isLive }: ChangesPanel): string {
  if (isPaused) return 'Paused'
  return isLive && seen.length === 0 ? 'Nothing has changed yet.' : ''
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

function changeView({ path, text, seenMs }: SeenChange): TemplateResult {
  const iso = new Date(seenMs).toISOString()
  return html`
    <tr class="changed">
      <td><a class="exact" href=${addressOfPath(path)}>${visible(path)}</a></td>
      <td>${text === undefined ? html`<span class="bad">removed</span>` : valueView(text)}</td>
      <td class="quiet"><time datetime=${iso}>${timeText(iso)}</time></td>
    </tr>`
}

function valueView(text: string | null): TemplateResult {
  if (text === null) return html`<span class="quiet">no value</span>`
  return html`<span class="exact">${text}</span>`
}
