/** A selector's matches, a page at a time: which topics they are is asked, their values are followed. */
import { signal } from '@preact/signals-core'
import { matchesOf } from '../../../client/changes/matches.js'
import { selectorFor, type TopicChange, TopicdError } from '../../../client/index.js'
import { download, fileName } from '../../shared/download.js'
import type { Context, Panel } from '../context.js'
import { focusLater } from '../drawing.js'
import { describeFailure } from '../failures.js'
import type { Row } from '../table/table.js'
import { Table } from '../table/table.js'
import { topicsText, visible } from '../value-text.js'
import { readMatches } from './matches-file.js'

const pageSize = 20

/** A page is asked for again at most this often, in ms. */
const askMs = 1000

/** Maximum share of a service's time for a page that is only looked at, as one request after the other takes. */
const shareMax = 0.1

interface Shown {
  /** The paths after which each page up to this one begins. */
  readonly starts: readonly (string | undefined)[]
  readonly rows: readonly Row[]
  readonly hasMore: boolean
}

export class SearchPanel implements Panel {
  /** Undefined until the first page has arrived. */
  readonly page = signal<Shown | undefined>(undefined)
  /** All matches, when they were counted last. */
  readonly total = signal<number | undefined>(undefined)
  readonly problem = signal('')
  readonly isTurning = signal(false)
  /** The character of the selector, counted from 1; undefined if the problem is not about one. */
  readonly problemAt = signal<number | undefined>(undefined)
  /** The progress of the download, or its result; empty before one. */
  readonly downloaded = signal('')
  readonly isDownloading = signal(false)
  readonly table: Table
  #downloading = new AbortController()
  #stopWatching = (): void => {}
  #asking: ReturnType<typeof setTimeout> | undefined
  #waitMs = askMs
  /** Counts what was asked: only the last answer is shown. */
  #asked = 0

  constructor(
    readonly selector: string,
    readonly context: Context,
  ) {
    this.table = new Table(context, 'Matches')
  }

  get title(): string {
    return visible(this.selector)
  }

  shownPaths(): readonly string[] | undefined {
    return this.page.value?.rows.map(({ path }) => path)
  }

  /** A guess if nothing matches or the service refuses the selector; undefined if there is none. */
  get meant(): string | undefined {
    const isEmpty = this.number === 1 && this.page.value?.rows.length === 0
    return isEmpty || this.problemAt.value !== undefined ? selectorFor(this.selector) : undefined
  }

  get number(): number {
    return this.page.value?.starts.length ?? 1
  }

  get size(): number {
    return Math.min(pageSize, this.context.session.key.pageSizeMax)
  }

  /** Shows it, as it was left. */
  start(): void {
    const focus = focusLater()
    const test = matchesOf(this.selector)?.test ?? (() => true)
    this.#stopWatching = this.context.names.watch((change) => {
      if (this.#mayChange(change) && test(change.path)) this.#askLater()
    })
    void this.#ask(this.page.value?.starts ?? [undefined]).then(() => focus('#search-title'))
  }

  /** Cancels a download that is not complete. */
  leave(): void {
    this.#asked++
    this.#stopWatching()
    clearTimeout(this.#asking)
    this.#downloading.abort()
  }

  /** A topic of this page that is still there is followed already. */
  #mayChange({ path, item }: TopicChange): boolean {
    return item === undefined || this.page.value?.rows.some((row) => row.path === path) !== true
  }

  #askLater(): void {
    this.#asking ??= setTimeout(() => void this.#ask(this.page.value?.starts ?? [undefined]), this.#waitMs)
  }

  /** The page becomes the shown one, unless it was left in the meantime. */
  async #ask(starts: Shown['starts']): Promise<void> {
    const { client } = this.context.session
    const { selector, size } = this
    const asked = ++this.#asked
    const startMs = performance.now()
    // What changes from now on may not be in the answer.
    clearTimeout(this.#asking)
    this.#asking = undefined
    try {
      const page = client.page(selector, { type: 'any', with_values: false, size, after: starts.at(-1) })
      const total = client.count(selector, { type: 'any' }).catch(() => undefined)
      const { results, has_more } = await page
      if (asked !== this.#asked) return
      const rows = results.map(({ path }) => ({ path, name: path, isTopic: true, hasChildren: false }))
      this.page.value = { starts, rows, hasMore: has_more }
      const counted = await total
      if (asked !== this.#asked) return
      this.total.value = counted
      this.problem.value = ''
      this.problemAt.value = undefined
    } catch (error) {
      if (asked !== this.#asked) return
      this.problem.value = describeFailure(error, this.context)
      const isSelector = error instanceof TopicdError && error.code === 'invalid_selector'
      const at = isSelector ? /at character (\d+)/.exec(error.message)?.[1] : undefined
      this.problemAt.value = at === undefined ? undefined : Number(at)
    }
    this.#waitMs = Math.max(askMs, (performance.now() - startMs) / shareMax)
    if (this.problem.value !== '' && this.problemAt.value === undefined) this.#askLater()
  }

  /** Turns one page at a time: a button may be pressed twice. The next one begins at the top. */
  async turn(by: 1 | -1): Promise<void> {
    const { rows = [], starts = [] } = this.page.value ?? {}
    if (this.isTurning.value) return
    this.isTurning.value = true
    await this.#ask(by === 1 ? [...starts, rows.at(-1)?.path] : starts.slice(0, -1))
    this.isTurning.value = false
    document.querySelector('#search-title')?.scrollIntoView({ block: 'nearest' })
  }

  /** All matches, not just those of this page. */
  async download(): Promise<void> {
    if (this.isDownloading.value) return
    const { session } = this.context
    const { signal } = (this.#downloading = new AbortController())
    const onProgress = (topics: number) => (this.downloaded.value = `Reading the matches… ${topicsText(topics)}`)
    this.isDownloading.value = true
    onProgress(0)
    try {
      const options = { size: session.key.pageSizeMax, signal, onProgress }
      const { lines, topics, isWhole } = await readMatches(session.client, this.selector, options)
      download(fileName('topics', 'ndjson'), 'application/x-ndjson', lines)
      const rest = isWhole ? '' : ' There are more: "topicd export" has no limit.'
      this.downloaded.value = `${topicsText(topics)} downloaded.${rest}`
    } catch (error) {
      this.downloaded.value = signal.aborted ? '' : `Not downloaded. ${describeFailure(error, this.context)}`
    }
    this.isDownloading.value = false
  }
}
