/** The view of a selector's changes. */
import { html, nothing, type TemplateResult } from 'lit-html'
import { repeat } from 'lit-html/directives/repeat.js'
import { addressOfPath, addressOfSelector } from '../address.js'
import { timeText, visible } from '../value-text.js'
import type { ChangesPanel, SeenChange } from './changes-panel.js'

export function changesView(panel: ChangesPanel): TemplateResult {
  const { selector, seen, problem, isPaused } = panel
  return html`
    <section class="panel" aria-labelledby="changes-title">
      <h2 id="changes-title" tabindex="-1">Changes of <bdi class="exact">${visible(selector)}</bdi></h2>
      ${problem.value === '' ? nothing : html`<p class="bad" role="alert">${problem.value}</p>`}
      <p class="row">
        <button aria-pressed=${isPaused.value} @click=${() => (isPaused.value ? panel.resume() : panel.pause())}>${isPaused.value ? 'Resume' : 'Pause'}</button>
        <a href=${addressOfSelector(selector)}>Show the topics</a>
        <span class="quiet" role="status">${statusText(panel)}</span>
      </p>
      ${seen.value.length === 0 ? nothing : changesTable(seen.value)}
    </section>
  `
}

function statusText({ seen, isPaused, hasBegun, context }: ChangesPanel): string {
  if (isPaused.value) return 'Paused'
  const isLive = hasBegun.value && context.names.outage === undefined
  return isLive && seen.value.length === 0 ? 'Nothing has changed yet.' : ''
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

function changeView({ path, text, updated, seenMs }: SeenChange): TemplateResult {
  if (path === undefined)
    return html`<tr><td colspan="3" class="notice">Some changes at this place are no longer known.</td></tr>`
  // A removal is told without its time.
  const iso = updated ?? new Date(seenMs).toISOString()
  return html`
    <tr class="changed-1">
      <td><a class="exact" href=${addressOfPath(path)}>${visible(path)}</a></td>
      <td>${text === undefined ? html`<span class="bad">removed</span>` : valueView(text)}</td>
      <td class="quiet">${updated === undefined ? 'about ' : ''}<time datetime=${iso}>${timeText(iso)}</time></td>
    </tr>`
}

function valueView(text: string | null): TemplateResult {
  return text === null ? html`<span class="quiet">no value</span>` : html`<span class="exact">${text}</span>`
}
