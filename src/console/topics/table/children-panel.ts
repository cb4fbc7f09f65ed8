/** The children of a path with their values: a page of them at a time, in natural order, filtered by a part of their name. */
import { computed, effect, signal, untracked } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import { descendants } from '../../../client/index.js'
import { addressOfSelector } from '../address.js'
import type { Context } from '../context.js'
import { describeFailure } from '../failures.js'
import { selectorOfWords } from '../search/words.js'
import { topicsText } from '../value-text.js'
import { pagesView, type Row, Table } from './table.js'

const pageSize = 50

export class ChildrenPanel {
  readonly #filter = signal('')
  /** The number of the first row, from 0. */
  readonly #from = signal(0)
  readonly #isTurning = signal(false)
  readonly #problem = signal('')
  /** All topics below the path, when it was shown. */
  readonly #below = signal<number | undefined>(undefined)
  readonly #table: Table
  readonly leave: () => void

  /** @param path the empty path for the top */
  constructor(
    private readonly path: string,
    private readonly context: Context,
  ) {
    this.#table = new Table(context, 'Children')
    // Topics may come to be below it, and the tree may forget a branch that was empty for a moment.
    this.leave = effect(() => {
      const { names } = context
      if (names.hasBelow(path) && names.children(path) === undefined) untracked(() => this.#open())
    })
    void this.#count()
  }

  #open(): void {
    this.context.names.tree.open(this.path).catch((error: unknown) => {
      this.#problem.value = describeFailure(error, this.context)
    })
  }

  async #count(): Promise<void> {
    const { client } = this.context.session
    const selector = this.path === '' ? '?.*//' : descendants(this.path)
    this.#below.value = await client.count(selector, { type: 'any' }).catch(() => undefined)
  }

  /** Those whose name contains the filter. */
  readonly #matching = computed((): readonly Row[] => {
    const words = this.#filter.value.toLowerCase()
    return (this.context.names.children(this.path) ?? [])
      .filter(({ name }) => name.toLowerCase().includes(words))
      .map(({ path, name, type, hasChildren }) => ({ path, name, isTopic: type !== undefined, hasChildren }))
  })

  readonly #rows = computed(() => {
    const last = Math.max(0, Math.ceil(this.#matching.value.length / pageSize) - 1) * pageSize
    const from = Math.min(this.#from.value, last)
    return this.#matching.value.slice(from, from + pageSize)
  })

  shownPaths(): readonly string[] {
    return this.#rows.value.filter(({ isTopic }) => isTopic).map(({ path }) => path)
  }

  view(): TemplateResult | typeof nothing {
    const { names } = this.context
    const children = names.children(this.path)
    if (!names.hasBelow(this.path)) return nothing
    if (children === undefined)
      return html`<p class=${this.#problem.value === '' ? 'quiet' : 'bad'}>${this.#problem.value || 'Listing…'}</p>`
    const below = this.#below.value
    const all = this.path === '' ? '?.*//' : descendants(this.path)
    return html`
      <section class="children" aria-labelledby="children-title">
        <div class="row">
          <h3 id="children-title">Children</h3>
          ${this.#filterView()}
          <a href=${addressOfSelector(all)}>Everything below${below === undefined ? '' : `: ${topicsText(below)}`}</a>
        </div>
        ${this.#problem.value === '' ? nothing : html`<p class="bad" role="alert">${this.#problem.value}</p>`}
        ${this.#pages('above')}
        ${this.#rows.value.length === 0 ? html`<p class="quiet">None of the ${children.length} listed has such a name.</p>` : this.#table.view(this.#rows.value)}
        ${this.#matching.value.length > pageSize ? this.#pages('below') : nothing}
      </section>
    `
  }

  #filterView(): TemplateResult {
    const filter = this.#filter.value
    const onInput = ({ target }: Event) => {
      this.#filter.value = (target as HTMLInputElement).value
      this.#from.value = 0
    }
    const selector = selectorOfWords(filter, this.path)
    return html`
      <input type="search" aria-label="Filter the children by name" placeholder="Filter" autocomplete="off" spellcheck="false" .value=${filter} @input=${onInput}>
      ${selector === undefined ? nothing : html`<a href=${addressOfSelector(selector)}>Search all levels below</a>`}`
  }

  #pages(place: 'above' | 'below'): TemplateResult {
    const { names } = this.context
    const matching = this.#matching.value.length
    const listedTo = names.listedTo(this.path)
    const first = this.#from.value + 1
    const count = this.#rows.value.length
    const hasMore = first - 1 + count < matching || listedTo !== undefined
    const total = listedTo === undefined ? matching : undefined
    const isTurning = this.#isTurning.value
    return pagesView({ first, count, total, hasMore, isTurning, turn: (by) => void this.#turn(by) }, place)
  }

  /** The next page begins at the top of the panel. */
  async #turn(by: 1 | -1): Promise<void> {
    if (this.#isTurning.value) return
    this.#isTurning.value = true
    const from = Math.max(0, this.#from.value + by * pageSize)
    try {
      if (from + pageSize > this.#matching.value.length) await this.context.names.tree.more(this.path)
      if (from < this.#matching.value.length) this.#from.value = from
      this.#problem.value = ''
      document.querySelector('#children-title')?.scrollIntoView({ block: 'nearest' })
    } catch (error) {
      this.#problem.value = describeFailure(error, this.context)
    }
    this.#isTurning.value = false
  }
}
