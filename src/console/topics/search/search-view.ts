/** The view of a selector's matches: a table of topics, a page at a time. */
import { html, nothing, type TemplateResult } from 'lit-html'
import { addressOfChanges, addressOfSelector } from '../address.js'
import { copyButton } from '../copy.js'
import { curlCommand } from '../curl.js'
import { RemoveDialog } from '../dialogs/remove-dialog.js'
import { icon } from '../icons.js'
import { may } from '../session.js'
import { pagesView } from '../table/table.js'
import { visible } from '../value-text.js'
import type { SearchPanel } from './search-panel.js'

/** So many rows fit on a screen, with the buttons above them. */
const shortPage = 10

export function searchView(panel: SearchPanel): TemplateResult {
  const { selector, meant, number } = panel
  const page = panel.page.value
  const problem = panel.problem.value
  const isEmpty = page?.rows.length === 0
  return html`
    <section class="panel" aria-labelledby="search-title">
      <h2 id="search-title" tabindex="-1">Matches for <bdi class="exact">${visible(selector)}</bdi></h2>
      ${problem === '' ? nothing : problemView(panel)}
      ${meant === undefined ? nothing : meantView(meant)}
      ${page === undefined ? html`<p class="quiet" role="status">${problem === '' ? 'Searching…' : ''}</p>` : nothing}
      ${isEmpty ? html`<p class="quiet" role="status">${number === 1 ? 'Nothing matches.' : 'Nothing is left on this page.'}</p>` : nothing}
      ${page === undefined || (isEmpty && number === 1) ? nothing : matchesView(panel, page)}
      <p role="status" class="quiet">${panel.downloaded.value}</p>
    </section>
  `
}

function matchesView(panel: SearchPanel, { rows, hasMore, starts }: NonNullable<SearchPanel['page']['value']>) {
  const { selector, context, size, number } = panel
  const { session, dialogs, note } = context
  const after = starts.at(-1)
  const body = JSON.stringify({
    selector,
    type: 'any',
    with_version: true,
    size,
    ...(after === undefined ? {} : { after }),
  })
  const remove = () =>
    dialogs.open((close) => new RemoveDialog(selector, [['everything that matches', selector]], context, close))
  const pages = (place: 'above' | 'below') =>
    pagesView(
      {
        first: (number - 1) * size + 1,
        count: rows.length,
        total: panel.total.value,
        hasMore,
        isTurning: panel.isTurning.value,
        turn: (by) => void panel.turn(by),
      },
      place,
    )
  return html`
    <p class="row actions">
      <a class="quiet-button" href=${addressOfChanges(selector)}>${icon('changes')}Changes</a>
      <button class="quiet-button" aria-disabled=${panel.isDownloading.value} @click=${() => panel.download()}>${icon('download')}Download all</button>
      ${copyButton('Copy as curl', () => curlCommand(session.base, 'fetch', body), note)}
      ${may(session.key, 'remove') ? html`<button class="quiet-button danger" @click=${remove}>${icon('remove')}Remove all matches…</button>` : nothing}
    </p>
    ${pages('above')}
    ${rows.length === 0 ? nothing : panel.table.view(rows)}
    ${rows.length > shortPage ? pages('below') : nothing}
  `
}

/** Shows, below the message, the selector with its faulty character, or its end, marked. */
function problemView({ selector, problem, problemAt }: SearchPanel): TemplateResult {
  const at = problemAt.value
  return html`
    <div role="alert">
      <p class="bad">${problem.value}</p>
      ${at === undefined ? nothing : markedView([...selector], at - 1)}
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
