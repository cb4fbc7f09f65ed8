/** How the selector's box looks, and what the selector matches. */

import type { Page } from '../../client/index.js'
import { repeat } from '../vendor/directives/repeat.js'
import { html, nothing, type TemplateResult } from '../vendor/lit-html.js'
import { addressOfChanges, addressOfPath, addressOfSelector } from './address.js'
import type { Context } from './context.js'
import type { SearchPanel } from './search-panel.js'
import { may } from './session.js'
import { shortened, topicsText, visible } from './value-text.js'

/** Of a value in a list. */
const valueCharactersMax = 300

/**
 * The box in which a selector is written.
 *
 * @param selector what it shows until someone writes in it
 * @param search begins a search for a selector
 */
export function selectorBox(selector: string, search: (selector: string) => void): TemplateResult {
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault()
    search(String(new FormData(event.target as HTMLFormElement).get('selector')))
  }
  return html`
    <form class="row selector" role="search" @submit=${onSubmit}>
      <label for="selector">Selector</label>
      <input id="selector" name="selector" class="exact" autocomplete="off" spellcheck="false" required .value=${selector}>
      <button>Find</button>
    </form>
    <details class="quiet">
      <summary>Selector syntax</summary>
      <dl class="examples">
        ${examples.map(([example, meaning]) => html`<dt><button class="plain exact" @click=${() => search(example)}>${example}</button></dt><dd>${meaning}</dd>`)}
      </dl>
    </details>
  `
}

const examples = [
  ['?.*//', 'every topic'],
  ['?.*/', 'every topic except those at the top'],
  ['a/b', 'only the topic a/b'],
  ['?a/b//', 'a/b and everything below it'],
  ['?a/.*/c', 'a/…/c with any one segment in between'],
  ['*.*temperature.*', 'every path that contains temperature'],
] as const

/** @param remove asks whether to remove all that the selector matches */
export function searchView(panel: SearchPanel, context: Context, remove: () => void): TemplateResult {
  const { selector, page, problem, number, meant } = panel
  const body = JSON.stringify({ selector, ...panel.members })
  return html`
    <section class="panel" aria-labelledby="search-title">
      <h2 id="search-title" tabindex="-1">Matches for <bdi class="exact">${visible(selector)}</bdi></h2>
      ${problem === '' ? nothing : problemView(panel)}
      ${meant === undefined ? nothing : meantView(meant)}
      ${
        page === undefined
          ? html`<p class="quiet" role="status">${problem === '' ? 'Searching…' : ''}</p>`
          : html`
        <p class="quiet" role="status">${countText(page, number)}</p>
        <ol class="results">${repeat(
          page.results,
          ({ path }) => path,
          (item) => html`
          <li class=${panel.changed.has(item.path) ? 'changed' : ''}>
            <a class="exact" href=${addressOfPath(item.path)}>${visible(item.path)}</a>
            <span class="quiet">${item.type}</span>
            <span class="exact">${item.text === undefined ? 'no value' : shortened(item.text, valueCharactersMax)}</span>
          </li>`,
        )}
        </ol>
        <p class="row">
          <button aria-disabled=${number === 1 || panel.isTurning} @click=${() => panel.previous()}>Previous page</button>
          <button aria-disabled=${!page.has_more || panel.isTurning} @click=${() => panel.next()}>Next page</button>
          ${may(context.session.key, 'remove') && (page.results.length > 0 || number > 1) ? html`<button class="danger" @click=${remove}>Remove all matches…</button>` : nothing}
          <a href=${addressOfChanges(selector)}>Changes</a>
          <button @click=${() => context.showCommand('fetch', body)}>Copy as curl</button>
        </p>`
      }
    </section>
  `
}

function countText({ results, has_more }: Page, number: number): string {
  if (results.length === 0) return number === 1 ? 'Nothing matches.' : 'Nothing is left on this page.'
  return `Page ${number}, ${topicsText(results.length)}${has_more ? '' : ', the last'}`
}

/** The message, and below it the selector, in which the character that it names is marked; or the end. */
function problemView({ selector, problem, problemAt }: SearchPanel): TemplateResult {
  return html`
    <div role="alert">
      <p class="bad">${problem}</p>
      ${problemAt === undefined ? nothing : markedView([...selector], problemAt - 1)}
    </div>
  `
}

/** The matches of the other selector have an address, so it is a link. */
function meantView(meant: string): TemplateResult {
  return html`<p role="status">Wildcards are written differently in a selector. Did you mean <a class="exact" href=${addressOfSelector(meant)}>${visible(meant)}</a>?</p>`
}

function markedView(characters: readonly string[], index: number): TemplateResult {
  const part = (from: number, to?: number): string => visible(characters.slice(from, to).join(''))
  return html`<p class="exact" aria-hidden="true">${part(0, index)}<mark>${part(index, index + 1) || ' '}</mark>${part(index + 1)}</p>`
}
