/** A table of topics with their live values: one page at a time, sorted by any column, with rows that can be selected. */
import { signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import { type Child, subtree, topic } from '../../../client/index.js'
import { formatWhole, timeText } from '../../shared/formats.js'
import { addressOfPath } from '../address.js'
import type { Context } from '../context.js'
import { choice, RemoveDialog } from '../dialogs/remove-dialog.js'
import { byPath } from '../drawing.js'
import { icon } from '../icons.js'
import { compareNaturally } from '../live/names.js'
import { selectorsOf } from '../live/selectors.js'
import { may } from '../session.js'
import { shortened, visible } from '../value-text.js'

/** Longer values are shortened; the topic's panel shows the whole value. */
const valueCharactersMax = 300

const columns = ['Name', 'Value', 'Type', 'Changed'] as const

type Column = (typeof columns)[number]

/** The shown page, and its place among all rows. */
interface Pages {
  readonly rows: readonly Child[]
  /** The number of the page's first row, from 1. */
  readonly first: number
  /** The number of all rows; undefined if unknown. */
  readonly total: number | undefined
  readonly hasMore: boolean
  /** True if the buttons above are out of sight at the last row. */
  readonly isLong: boolean
  readonly turn: (by: 1 | -1) => Promise<void>
}

export class Table {
  readonly #isTurning = signal(false)
  /** Undefined for the original order of the rows. */
  readonly #sort = signal<{ readonly column: Column; readonly isDown: boolean } | undefined>(undefined)
  readonly #chosen = signal<ReadonlySet<string>>(new Set())

  /** @param title the id of the table's heading */
  constructor(
    private readonly context: Context,
    private readonly label: string,
    private readonly title: string,
  ) {}

  /** @param none shown if there are no rows */
  view(pages: Pages, none: unknown): TemplateResult {
    return html`
      ${this.#pagesView(pages, 'above')}
      ${pages.rows.length === 0 ? none : this.#rowsView(pages.rows)}
      ${pages.isLong ? this.#pagesView(pages, 'below') : nothing}
    `
  }

  #pagesView({ rows, first, total, hasMore, turn }: Pages, place: 'above' | 'below'): TemplateResult {
    const isTurning = this.#isTurning.value
    const known = total === undefined ? '' : ` of ${formatWhole(total)}`
    const last = formatWhole(first + rows.length - 1)
    const text = rows.length === 0 ? 'None' : `${formatWhole(first)}–${last}`
    const button = (name: string, by: 1 | -1, isThere: boolean) => {
      const onClick = () => isThere && this.#turn(() => turn(by))
      return html`<button class="quiet-button" aria-disabled=${!isThere || isTurning} @click=${onClick}>${name}</button>`
    }
    return html`<p class="row pages">
      <span class="quiet" role=${place === 'above' ? 'status' : nothing}>${text}${known}</span>
      ${first === 1 && !hasMore ? nothing : [button('Previous page', -1, first > 1), button('Next page', 1, hasMore)]}
    </p>`
  }

  /** Turns one page at a time, even if a button is pressed twice, and scrolls to the top. */
  async #turn(turn: () => Promise<void>): Promise<void> {
    if (this.#isTurning.value) return
    this.#isTurning.value = true
    await turn()
    this.#isTurning.value = false
    document.querySelector(`#${this.title}`)?.scrollIntoView({ block: 'nearest' })
  }

  #rowsView(rows: readonly Child[]): TemplateResult {
    const mayRemove = may(this.context.session.key, 'remove')
    return html`
      ${mayRemove ? this.#choiceView(rows) : nothing}
      <table class="rows topics" aria-label=${this.label}>
        <thead>
          <tr>${mayRemove ? html`<th>${this.#allView(rows)}</th>` : nothing}${columns.map((column) => this.#headView(column))}</tr>
        </thead>
        <tbody>${byPath(this.#sorted(rows), (row) => this.#rowView(row, mayRemove))}</tbody>
      </table>
    `
  }

  #allView(rows: readonly Child[]): TemplateResult {
    const isAll = rows.every(({ path }) => this.#chosen.value.has(path))
    const choose = ({ target }: Event) => {
      const { checked } = target as HTMLInputElement
      this.#chosen.value = new Set(checked ? rows.map(({ path }) => path) : [])
    }
    return html`<input type="checkbox" aria-label="Select all" .checked=${isAll} @change=${choose}>`
  }

  #headView(column: Column): TemplateResult {
    const sort = this.#sort.value
    const isOwn = sort?.column === column
    const order = isOwn ? (sort.isDown ? 'descending' : 'ascending') : nothing
    const mark = isOwn ? (sort.isDown ? ' ↓' : ' ↑') : ''
    return html`<th scope="col" class=${`column-${column.toLowerCase()}`} aria-sort=${order}><button class="plain" title="Sort these rows" @click=${() => this.#sortBy(column)}>${column}${mark}</button></th>`
  }

  /** Reverses the order if the rows are sorted by the column already. */
  #sortBy(column: Column): void {
    const sort = this.#sort.peek()
    this.#sort.value = { column, isDown: sort?.column === column ? !sort.isDown : column === 'Changed' }
  }

  #rowView({ path, name, type, hasChildren }: Child, mayRemove: boolean): TemplateResult {
    const { items } = this.context
    const item = items.get(path)
    const count = items.changes(path)
    const choose = (event: Event) => {
      const { checked } = event.target as HTMLInputElement
      const others = [...this.#chosen.peek()].filter((chosen) => chosen !== path)
      this.#chosen.value = new Set(checked ? [...others, path] : others)
    }
    return html`
      <tr class=${count === 0 ? '' : `changed-${count % 2}`}>
        ${mayRemove ? html`<td><input type="checkbox" aria-label=${`Select ${visible(name)}`} .checked=${this.#chosen.value.has(path)} @change=${choose}></td>` : nothing}
        <td><a class="exact" href=${addressOfPath(path)}>${visible(name)}${hasChildren ? '/' : ''}</a></td>
        <td>${valueView(item?.text, type !== undefined, item === undefined ? items.isLoaded(path) : undefined)}</td>
        <td class="quiet column-type">${item?.type ?? ''}</td>
        <td class="quiet">${item?.updated === undefined ? '' : html`<time datetime=${item.updated}>${timeText(item.updated)}</time>`}</td>
      </tr>`
  }

  #sorted(rows: readonly Child[]): readonly Child[] {
    const sort = this.#sort.value
    if (sort === undefined) return rows
    const { column, isDown } = sort
    const of = ({ path, name }: Child): string => {
      const { text = '', type = '', updated = '' } = this.context.items.get(path) ?? {}
      return { Name: name, Value: text, Type: type, Changed: updated }[column]
    }
    const sorted = rows.toSorted((a, b) => compareValues(of(a), of(b)))
    return isDown ? sorted.reverse() : sorted
  }

  #choiceView(rows: readonly Child[]): TemplateResult | typeof nothing {
    const { context } = this
    const chosen = rows.filter(({ path }) => this.#chosen.value.has(path)).map(({ path }) => path)
    if (chosen.length === 0) return nothing
    const chooseNone = () => {
      this.#chosen.value = new Set()
    }
    const remove = () => {
      const own = choice('the topics themselves', ...selectorsOf(chosen, topic))
      const both = choice('the topics and everything below them', ...selectorsOf(chosen, subtree))
      const named = `${chosen.slice(0, namedMax).map(visible).join(', ')}${chosen.length > namedMax ? ', …' : ''}`
      context.dialogs.shown.value = new RemoveDialog(named, [own, both], context, chooseNone)
    }
    return html`<p class="row chosen">
      <span role="status">${chosen.length} selected</span>
      <button class="danger" @click=${remove}>${icon('remove')}Remove selected…</button>
      <button class="plain" @click=${chooseNone}>Clear selection</button>
    </p>`
  }
}

/** Maximum number of selected rows that the dialog names. */
const namedMax = 5

/** @param isGone false while the topic has not arrived yet; undefined if it has arrived */
function valueView(text: string | undefined, isTopic: boolean, isGone: boolean | undefined): TemplateResult | string {
  if (text !== undefined) return html`<span class="exact">${shortened(text, valueCharactersMax)}</span>`
  if (!isTopic || isGone === false) return ''
  return html`<span class="quiet">${isGone ? 'removed' : 'no value'}</span>`
}

/** Compares numbers by value, and anything else in natural order. */
function compareValues(a: string, b: string): number {
  const [x, y] = [a, b].map((text) => (text === '' ? Number.NaN : Number(text)))
  return Number(x) - Number(y) || compareNaturally(a, b)
}
