/** A selector's matches, a page at a time. */
import { type Page, selectorFor, TopicdError } from '../../../client/index.js'
import { download, fileName } from '../../shared/download.js'
import { type Context, describeFailure, isBeyondRate, markedMs } from '../context.js'
import { freshPage } from '../fresh-page.js'
import { topicsText } from '../value-text.js'
import { readMatches } from './matches-file.js'

const pageSize = 20

export class SearchPanel {
  page: Page | undefined
  problem = ''
  isTurning = false
  /** The character of the selector, counted from 1; undefined if the problem is not about one. */
  problemAt: number | undefined
  /** True if the service refuses the selector, so that a retry would not help. */
  isRefused = false
  /** The paths of topics that changed a moment ago. */
  changed: ReadonlySet<string> = new Set()
  /** The progress of the download, or its result; empty before one. */
  downloaded = ''
  #downloading: AbortController | undefined
  #pageStarts: readonly (string | undefined)[] = [undefined]

  constructor(
    readonly selector: string,
    private readonly context: Context,
  ) {}

  /** The page number, from 1. */
  get number(): number {
    return this.#pageStarts.length
  }

  /** A guess if nothing matches or the service refuses the selector; undefined if there is none. */
  get meant(): string | undefined {
    const isEmpty = this.number === 1 && this.page?.results.length === 0
    return isEmpty || this.problemAt !== undefined ? selectorFor(this.selector) : undefined
  }

  /** Members of the request for the current page, without the selector. */
  get members() {
    return this.#membersFrom(this.#pageStarts)
  }

  #membersFrom(pageStarts: readonly (string | undefined)[]) {
    const after = pageStarts.at(-1)
    return {
      type: 'any',
      with_version: true,
      size: Math.min(pageSize, this.context.session.key.pageSizeMax),
      ...(after === undefined ? {} : { after }),
    } as const
  }

  /** @param isLive true for a background refresh, which throws what the client throws */
  async refresh(isLive = false): Promise<void> {
    await this.#fetch(this.#pageStarts, isLive)
  }

  /** The page becomes the current one, unless another has become it in the meantime. */
  async #fetch(pageStarts: readonly (string | undefined)[], isLive: boolean): Promise<void> {
    const current = this.#pageStarts
    try {
      const known = isLive ? this.page : undefined
      const page = await freshPage(this.context.session.client, this.selector, this.#membersFrom(pageStarts), known)
      if (this.#pageStarts !== current) return
      if (isLive && this.page !== undefined) this.#mark(this.page, page)
      this.#pageStarts = pageStarts
      this.page = page
      this.problem = ''
      this.problemAt = undefined
    } catch (error) {
      if (!isLive || !isBeyondRate(error)) this.problem = describeFailure(error, this.context)
      this.isRefused = error instanceof TopicdError && error.status < 429
      const isSelector = error instanceof TopicdError && error.code === 'invalid_selector'
      const at = isSelector ? /at character (\d+)/.exec(error.message)?.[1] : undefined
      this.problemAt = at === undefined ? undefined : Number(at)
      if (isLive) throw error
    } finally {
      this.context.changed()
    }
  }

  /** Marks new items and new values for a moment. */
  #mark(before: Page, after: Page): void {
    const texts = new Map(before.results.map(({ path, text }) => [path, text]))
    const changed = after.results.filter(({ path, text }) => !texts.has(path) || texts.get(path) !== text)
    if (changed.length === 0) return
    this.changed = new Set(changed.map(({ path }) => path))
    setTimeout(() => {
      this.changed = new Set()
      this.context.changed()
    }, markedMs)
  }

  async next(): Promise<void> {
    const last = this.page?.results.at(-1)
    if (last !== undefined && this.page?.has_more === true) await this.#turn([...this.#pageStarts, last.path])
  }

  async previous(): Promise<void> {
    if (this.#pageStarts.length > 1) await this.#turn(this.#pageStarts.slice(0, -1))
  }

  /** Turns one page at a time: a button may be pressed twice. */
  async #turn(pageStarts: readonly (string | undefined)[]): Promise<void> {
    if (this.isTurning) return
    this.isTurning = true
    this.context.changed()
    await this.#fetch(pageStarts, false)
    this.isTurning = false
    this.context.changed()
  }

  get isDownloading(): boolean {
    return this.#downloading !== undefined
  }

  /** All matches, not just those of this page. */
  async download(): Promise<void> {
    if (this.isDownloading) return
    const { session } = this.context
    const { signal } = (this.#downloading = new AbortController())
    const say = (text: string): void => {
      this.downloaded = text
      this.context.changed()
    }
    say('Reading the matches…')
    try {
      const size = session.key.pageSizeMax
      const onProgress = (topics: number) => say(`Reading the matches… ${topicsText(topics)}`)
      const { lines, topics, isWhole } = await readMatches(session.client, this.selector, { size, signal, onProgress })
      download(fileName('topics', 'ndjson'), 'application/x-ndjson', lines)
      const rest = isWhole ? '' : ' There are more: "topicd export" has no limit.'
      say(`${topicsText(topics)} downloaded.${rest}`)
    } catch (error) {
      say(signal.aborted ? '' : `Not downloaded. ${describeFailure(error, this.context)}`)
    }
    this.#downloading = undefined
    this.context.changed()
  }

  /** Cancels a download that is not complete. */
  leave(): void {
    this.#downloading?.abort()
  }
}
