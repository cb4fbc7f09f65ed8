/** The view of a selector's matches: a table of topics, a page at a time. */

import { html, nothing, type TemplateResult } from 'lit-html'
import { repeat } from 'lit-html/directives/repeat.js'
import type { Page } from '../../../client/index.js'
import { addressOfChanges, addressOfPath, addressOfSelector } from '../address.js'
import type { Context } from '../context.js'
import { may } from '../session.js'
import { shortened, timeText, topicsText, visible } from '../value-text.js'
import type { SearchPanel } from './search-panel.js'

const valueCharactersMax = 300

/** @param remove asks for confirmation first */
export function searchView(panel: SearchPanel, context: Context, remove: () => void): TemplateResult {
  const { selector, page, problem, number, meant } = panel
  const body = JSON.stringify({ selector, ...panel.members })
  const isEmpty = page?.results.length === 0 && number === 1
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
        ${page.results.length === 0 ? nothing : matchesTable(page, panel.changed)}
        <p class="row">
          <button aria-disabled=${number === 1 || panel.isTurning} @click=${() => panel.previous()}>Previous page</button>
          <button aria-disabled=${!page.has_more || panel.isTurning} @click=${() => panel.next()}>Next page</button>
          <a href=${addressOfChanges(selector)}>Changes</a>
          <button @click=${() => context.showCommand('fetch', body)}>Copy as curl</button>
          ${isEmpty ? nothing : html`<button aria-disabled=${panel.isDownloading} @click=${() => panel.download()}>Download all</button>`}
          ${!isEmpty && may(context.session.key, 'remove') ? html`<button class="danger" @click=${remove}>Remove all matches…</button>` : nothing}
        </p>
        <p role="status" class="quiet">${panel.downloaded}</p>`
      }
    </section>
  `
}

function matchesTable({ results }: Page, changed: ReadonlySet<string>): TemplateResult {
  return html`
    <table class="rows matches">
      <thead>
        <tr><th scope="col">Path</th><th scope="col">Value</th><th scope="col">Type</th><th scope="col">Updated</th></tr>
      </thead>
      <tbody>${repeat(
        results,
        ({ path }) => path,
        (item) => html`
        <tr class=${changed.has(item.path) ? 'changed' : ''}>
          <td><a class="exact" href=${addressOfPath(item.path)}>${visible(item.path)}</a></td>
          <td>${item.text === undefined ? html`<span class="quiet">no value</span>` : html`<span class="exact">${shortened(item.text, valueCharactersMax)}</span>`}</td>
          <td class="quiet">${item.type}</td>
          <td class="quiet">${item.updated === undefined ? '–' : html`<time datetime=${item.updated}>${timeText(item.updated)}</time>`}</td>
        </tr>`,
      )}
      </tbody>
    </table>
  `
}

function countText({ results, has_more }: Page, number: number): string {
  if (results.length === 0) return number === 1 ? 'Nothing matches.' : 'Nothing is left on this page.'
  return `Page ${number}, ${topicsText(results.length)}${has_more ? '' : ', the last'}`
}

/** Shows, below the message, the selector with its faulty character, or its end, marked. */
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
