/** A selector's matches, one page at a time. Requests find the matching topics; streams follow their values. */
import { signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import { matchesOf } from '../../../client/changes/matches.js'
import { type Child, selectorFor, type TopicChange, TopicdError } from '../../../client/index.js'
import { download, fileName } from '../../shared/download.js'
import { addressOfChanges, addressOfSelector } from '../address.js'
import type { Context, Panel } from '../context.js'
import { curlButton } from '../copy.js'
import { choice, RemoveDialog } from '../dialogs/remove-dialog.js'
import { focusLater } from '../drawing.js'
import { describeFailure } from '../failures.js'
import { icon } from '../icons.js'
import { may } from '../session.js'
import { Table } from '../table/table.js'
import { topicsText, visible } from '../value-text.js'
import { readMatches } from './matches-file.js'

const pageSize = 20

/** Number of rows that fit on a screen together with the buttons above them. */
const shortPage = 10

/** Minimum wait before a page is requested again because of a change or a failure, in ms. */
const askMs = 1000

/** Maximum share of the service's time that an idle page may use. */
const shareMax = 0.1

interface Shown {
  /** The path after which each page up to this one starts. */
  readonly starts: readonly (string | undefined)[]
  readonly rows: readonly Child[]
  readonly hasMore: boolean
}

interface Problem {
  readonly text: string
  /** The faulty character's position in the selector, from 1; undefined if the problem is not at a character. */
  readonly at: number | undefined
}

export class SearchPanel implements Panel {
  /** Undefined until the first page has arrived. */
  readonly #page = signal<Shown | undefined>(undefined)
  /** The number of all matches at the last count. */
  readonly #total = signal<number | undefined>(undefined)
  readonly #problem = signal<Problem | undefined>(undefined)
  /** The progress or result of the download; initially empty. */
  readonly #downloaded = signal('')
  /** Undefined while there is no download. */
  readonly #downloading = signal<AbortController | undefined>(undefined)
  readonly #table: Table
  #shown = new AbortController()
  #later: ReturnType<typeof setTimeout> | undefined
  #isAsking = false
  /** Whether a topic has changed since the start of the last request, whose response might not include it. */
  #isOutdated = false
  #waitMs = askMs
  /** The number of requests so far; only the response to the last one is shown. */
  #asked = 0

  constructor(
    readonly selector: string,
    private readonly context: Context,
  ) {
    this.#table = new Table(context, 'Matches', 'search-title')
  }

  get title(): string {
    return visible(this.selector)
  }

  shownPaths(): readonly string[] | undefined {
    return this.#page.value?.rows.map(({ path }) => path)
  }

  get #starts(): Shown['starts'] {
    return this.#page.value?.starts ?? [undefined]
  }

  get #size(): number {
    return Math.min(pageSize, this.context.session.key.pageSizeMax)
  }

  view(): TemplateResult {
    const page = this.#page.value
    const problem = this.#problem.value
    const isEmpty = page?.rows.length === 0
    const isFirst = this.#starts.length === 1
    // A suggestion if nothing matches or the service rejects the selector.
    const meant = (isEmpty && isFirst) || problem?.at !== undefined ? selectorFor(this.selector) : undefined
    return html`
      <section class="panel" aria-labelledby="search-title">
        <h2 id="search-title" tabindex="-1">Matches for <bdi class="exact">${visible(this.selector)}</bdi></h2>
        ${problem && this.#problemView(problem)}
        ${meant === undefined ? nothing : html`<p role="status">Wildcards are written differently in a selector. Did you mean <a class="exact" href=${addressOfSelector(meant)}>${visible(meant)}</a>?</p>`}
        ${page === undefined ? html`<p class="quiet" role="status">${problem === undefined ? 'Searching…' : ''}</p>` : nothing}
        ${isEmpty ? html`<p class="quiet" role="status">${isFirst ? 'No topic matches.' : 'No matches are left on this page.'}</p>` : nothing}
        ${page === undefined || (isEmpty && isFirst) ? nothing : this.#matchesView(page)}
        <p role="status" class="quiet">${this.#downloaded.value}</p>
      </section>
    `
  }

  /** Shows the message, and below it the selector with the faulty character, or the end, marked. */
  #problemView({ text, at }: Problem): TemplateResult {
    return html`
      <div role="alert">
        <p class="bad">${text}</p>
        ${at === undefined ? nothing : markedView([...this.selector], at - 1)}
      </div>
    `
  }

  #matchesView({ rows, hasMore, starts }: Shown): TemplateResult {
    const { selector, context } = this
    const { session, dialogs } = context
    const size = this.#size
    const after = starts.at(-1)
    const remove = () => {
      dialogs.shown.value = new RemoveDialog(selector, [choice('everything that matches', selector)], context)
    }
    const pages = {
      rows,
      first: (starts.length - 1) * size + 1,
      total: this.#total.value,
      hasMore,
      isLong: rows.length > shortPage,
      turn: (by: 1 | -1) => this.#ask(by === 1 ? [...starts, rows.at(-1)?.path] : starts.slice(0, -1)),
    }
    return html`
      <p class="row actions">
        <a class="quiet-button" href=${addressOfChanges(selector)}>${icon('changes')}Changes</a>
        <button class="quiet-button" aria-disabled=${this.#downloading.value !== undefined} @click=${() => this.#download()}>${icon('download')}Download all</button>
        ${curlButton('Copy as curl', context, 'fetch', { selector, type: 'any', with_version: true, size, after })}
        ${may(session.key, 'remove') ? html`<button class="quiet-button danger" @click=${remove}>${icon('remove')}Remove all matches…</button>` : nothing}
      </p>
      ${this.#table.view(pages, nothing)}
    `
  }

  /** Shows the same page of matches as before. */
  start(): void {
    const focus = focusLater()
    const test = matchesOf(this.selector)?.test ?? (() => true)
    const onChange = ({ detail }: CustomEvent<TopicChange>) => {
      if (this.#mayChange(detail) && test(detail.path)) this.#askLater()
    }
    this.#shown = new AbortController()
    this.context.names.tree.addEventListener('topic', onChange, { signal: this.#shown.signal })
    void this.#ask(this.#starts).then(() => focus('#search-title'))
  }

  /** Cancels a download that is not complete. */
  leave(): void {
    this.#asked++
    this.#shown.abort()
    clearTimeout(this.#later)
    this.#downloading.value?.abort()
  }

  /** False for an existing topic on this page, because its value is followed anyway. */
  #mayChange({ path, item }: TopicChange): boolean {
    return item === undefined || this.#page.value?.rows.some((row) => row.path === path) !== true
  }

  /** Does not replace a running request, which may be for another page. */
  #askLater(): void {
    this.#isOutdated = true
    if (!this.#isAsking) this.#later ??= setTimeout(() => void this.#ask(this.#starts), this.#waitMs)
  }

  /** Requests a page and shows it, unless the user has left in the meantime. */
  async #ask(starts: Shown['starts']): Promise<void> {
    const { client } = this.context.session
    const { selector } = this
    const asked = ++this.#asked
    const startMs = performance.now()
    clearTimeout(this.#later)
    this.#later = undefined
    this.#isAsking = true
    this.#isOutdated = false
    try {
      const options = { type: 'any', with_values: false, size: this.#size, after: starts.at(-1) } as const
      const page = client.page(selector, options)
      const total = client.count(selector, { type: 'any' }).catch(() => undefined)
      const { results, has_more } = await page
      if (asked !== this.#asked) return
      const rows = results.map(({ path, type }) => ({ path, name: path, type, hasChildren: false }))
      this.#page.value = { starts, rows, hasMore: has_more }
      const counted = await total
      if (asked !== this.#asked) return
      this.#total.value = counted
      this.#problem.value = undefined
    } catch (error) {
      if (asked !== this.#asked) return
      const isSelector = error instanceof TopicdError && error.code === 'invalid_selector'
      const at = isSelector ? /at character (\d+)/.exec(error.message)?.[1] : undefined
      this.#problem.value = { text: describeFailure(error, this.context), at: at === undefined ? at : Number(at) }
    }
    this.#waitMs = Math.max(askMs, (performance.now() - startMs) / shareMax)
    this.#isAsking = false
    const hasFailed = this.#problem.value !== undefined && this.#problem.value.at === undefined
    if (hasFailed || this.#isOutdated) this.#askLater()
  }

  /** Downloads all matches, not only this page. */
  async #download(): Promise<void> {
    if (this.#downloading.value !== undefined) return
    const { session } = this.context
    const downloading = new AbortController()
    const { signal } = downloading
    const onProgress = (topics: number) => (this.#downloaded.value = `Reading the matches… ${topicsText(topics)}`)
    this.#downloading.value = downloading
    onProgress(0)
    try {
      const options = { size: session.key.pageSizeMax, signal, onProgress }
      const { lines, topics, isWhole } = await readMatches(session.client, this.selector, options)
      download(fileName('topics', 'ndjson'), 'application/x-ndjson', lines)
      const rest = isWhole ? '' : ' There are more matches; "topicd export" has no limit.'
      this.#downloaded.value = `${topicsText(topics)} downloaded.${rest}`
    } catch (error) {
      this.#downloaded.value = signal.aborted ? '' : `Not downloaded. ${describeFailure(error, this.context)}`
    }
    this.#downloading.value = undefined
  }
}

function markedView(characters: readonly string[], index: number): TemplateResult {
  const part = (from: number, to?: number): string => visible(characters.slice(from, to).join(''))
  return html`<p class="exact" aria-hidden="true">${part(0, index)}<mark>${part(index, index + 1) || ' '}</mark>${part(index + 1)}</p>`
}
