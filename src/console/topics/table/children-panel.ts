/** The children of a path with their values, one page at a time, in natural order, filtered by part of the name. */
import { computed, effect, signal, untracked } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import { descendants } from '../../../client/index.js'
import { addressOfSelector } from '../address.js'
import type { Context } from '../context.js'
import { alertView } from '../failures.js'
import { selectorOfWords } from '../search/words.js'
import { Task } from '../task.js'
import { topicsText } from '../value-text.js'
import { Table } from './table.js'

const pageSize = 50

export class ChildrenPanel {
  readonly #filter = signal('')
  /** The index of the first row to show, from 0. */
  readonly #wanted = signal(0)
  readonly #listing = new Task()
  readonly #turning = new Task()
  /** The selector for all topics below the path. */
  readonly #all: string
  /** The number of all topics below the path when the panel was opened. */
  readonly #below = signal<number | undefined>(undefined)
  readonly #table: Table
  readonly leave: () => void

  /** @param path empty for the top of the tree */
  constructor(
    private readonly path: string,
    private readonly context: Context,
  ) {
    this.#table = new Table(context, 'Children', 'children-title')
    this.#all = path === '' ? '?.*//' : descendants(path)
    // Children may appear later, and the tree forgets a branch that was briefly empty.
    this.leave = effect(() => {
      const { names } = context
      if (names.hasBelow(path) && names.children(path) === undefined)
        void untracked(() => this.#listing.attempt(this.context, () => names.tree.open(path)))
    })
    void this.#count()
  }

  async #count(): Promise<void> {
    const { client } = this.context.session
    this.#below.value = await client.count(this.#all, { type: 'any' }).catch(() => undefined)
  }

  /** The children whose name contains the filter. */
  readonly #matching = computed(() => {
    const words = this.#filter.value.toLowerCase()
    return (this.context.names.children(this.path) ?? []).filter(({ name }) => name.toLowerCase().includes(words))
  })

  /** The index of the first row on the page: the last page is shown if the wanted one no longer exists. */
  readonly #from = computed(() => {
    const last = Math.max(0, Math.ceil(this.#matching.value.length / pageSize) - 1) * pageSize
    return Math.min(this.#wanted.value, last)
  })

  readonly #rows = computed(() => this.#matching.value.slice(this.#from.value, this.#from.value + pageSize))

  shownPaths(): readonly string[] {
    return this.#rows.value.filter(({ type }) => type !== undefined).map(({ path }) => path)
  }

  view(): TemplateResult | typeof nothing {
    const { names } = this.context
    const children = names.children(this.path)
    if (!names.hasBelow(this.path)) return nothing
    if (children === undefined) {
      const problem = this.#listing.problem.value
      return html`<p class=${problem === '' ? 'quiet' : 'bad'}>${problem || 'Listing…'}</p>`
    }
    const below = this.#below.value
    return html`
      <section class="children" aria-labelledby="children-title">
        <div class="row">
          <h3 id="children-title">Children</h3>
          ${this.#filterView()}
          <a href=${addressOfSelector(this.#all)}>Everything below${below === undefined ? '' : `: ${topicsText(below)}`}</a>
        </div>
        ${alertView(this.#turning.problem.value)}
        ${this.#table.view(this.#pages(), html`<p class="quiet">None of the ${children.length} listed children matches the filter.</p>`)}
      </section>
    `
  }

  #filterView(): TemplateResult {
    const filter = this.#filter.value
    const onInput = ({ target }: Event) => {
      this.#filter.value = (target as HTMLInputElement).value
      this.#wanted.value = 0
    }
    const selector = selectorOfWords(filter, this.path)
    return html`
      <input type="search" aria-label="Filter the children by name" placeholder="Filter" autocomplete="off" spellcheck="false" .value=${filter} @input=${onInput}>
      ${selector === undefined ? nothing : html`<a href=${addressOfSelector(selector)}>Search all levels below</a>`}`
  }

  #pages() {
    const matching = this.#matching.value.length
    const listedTo = this.context.names.listedTo(this.path)
    const rows = this.#rows.value
    const from = this.#from.value
    return {
      rows,
      first: from + 1,
      total: listedTo === undefined ? matching : undefined,
      hasMore: from + rows.length < matching || listedTo !== undefined,
      isLong: matching > pageSize,
      turn: (by: 1 | -1) => this.#turning.attempt(this.context, () => this.#turn(by)),
    }
  }

  async #turn(by: 1 | -1): Promise<void> {
    const from = Math.max(0, this.#from.value + by * pageSize)
    if (from + pageSize > this.#matching.value.length) await this.context.names.tree.more(this.path)
    if (from < this.#matching.value.length) this.#wanted.value = from
  }
}
