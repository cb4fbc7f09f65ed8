/** How the changes of what a selector matches look. */
import { repeat } from '../vendor/directives/repeat.js'
import { html, nothing, type TemplateResult } from '../vendor/lit-html.js'
import { addressOfPath, addressOfSelector } from './address.js'
import type { ChangesPanel, SeenChange } from './changes-panel.js'
import { shortened, visible } from './value-text.js'

/** Of a value in a list. */
const valueCharactersMax = 300

export function changesView(panel: ChangesPanel): TemplateResult {
  const { selector, seen, problem, isPaused, hasGap } = panel
  const toggle = () => (isPaused ? panel.start() : panel.pause())
  return html`
    <section class="panel" aria-labelledby="changes-title">
      <h2 id="changes-title" tabindex="-1">Changes of <bdi class="exact">${visible(selector)}</bdi></h2>
      ${problem === '' ? nothing : html`<p class="bad" role="alert">${problem}</p>`}
      ${hasGap ? html`<p class="notice">Some changes in between are not known any more.</p>` : nothing}
      <p class="row">
        <button aria-pressed=${isPaused} @click=${toggle}>${isPaused ? 'Resume' : 'Pause'}</button>
        <a href=${addressOfSelector(selector)}>Show the topics</a>
        <span class="quiet" role="status">${statusText(panel)}</span>
      </p>
      <ol class="results">${repeat(seen, ({ number }) => number, changeView)}</ol>
    </section>
  `
}

function statusText({ seen, isPaused }: ChangesPanel): string {
  if (isPaused) return 'Paused'
  return seen.length === 0 ? 'Nothing has changed yet.' : ''
}

function changeView({ path, text, seenMs }: SeenChange): TemplateResult {
  return html`
    <li class="changed">
      <time class="quiet">${new Date(seenMs).toLocaleTimeString()}</time>
      <a class="exact" href=${addressOfPath(path)}>${visible(path)}</a>
      ${text === undefined ? html`<span class="bad">removed</span>` : html`<span class="exact">${text === null ? 'no value' : shortened(text, valueCharactersMax)}</span>`}
    </li>`
}
