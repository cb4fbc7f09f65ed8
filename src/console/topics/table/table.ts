/** A table of topics with their values as they change: sorted by any column, with rows that can be chosen. */
import { signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import { repeat } from 'lit-html/directives/repeat.js'
import { subtree, topic } from '../../../client/index.js'
import { addressOfPath } from '../address.js'
import type { Context } from '../context.js'
import { RemoveDialog } from '../dialogs/remove-dialog.js'
import { icon } from '../icons.js'
import { compareNaturally } from '../live/names.js'
import { selectorsOf } from '../live/selectors.js'
import { may } from '../session.js'
import { shortened, timeText, visible } from '../value-text.js'

/** The topic itself has all of it. */
const valueCharactersMax = 300

export interface Row {
  readonly path: string
  /** Its last segments, or all of it. */
  readonly name: string
  readonly isTopic: boolean
  readonly hasChildren: boolean
}

type Column = 'Name' | 'Value' | 'Type' | 'Changed'

interface Sort {
  readonly column: Column
  readonly isDown: boolean
}

export class Table {
  /** Undefined for the order of the rows as they are given. */
  readonly #sort = signal<Sort | undefined>(undefined)
  readonly #chosen = signal<ReadonlySet<string>>(new Set())

  constructor(
    private readonly context: Context,
    private readonly label: string,
  ) {}

  view(rows: readonly Row[]): TemplateResult {
    const mayRemove = may(this.context.session.key, 'remove')
    return html`
      ${mayRemove ? this.#choiceView(rows) : nothing}
      <table class="rows topics" aria-label=${this.label}>
        <thead>
          <tr>${mayRemove ? html`<th>${this.#allView(rows)}</th>` : nothing}${columns.map((column) => this.#headView(column))}</tr>
        </thead>
        <tbody>${repeat(
          this.#sorted(rows),
          ({ path }) => path,
          (row) => this.#rowView(row, mayRemove),
        )}</tbody>
      </table>
    `
  }

  #allView(rows: readonly Row[]): TemplateResult {
    const isAll = rows.every(({ path }) => this.#chosen.value.has(path))
    const choose = () => (this.#chosen.value = new Set(isAll ? [] : rows.map(({ path }) => path)))
    return html`<input type="checkbox" aria-label="Choose all" .checked=${isAll} @change=${choose}>`
  }

  #headView(column: Column): TemplateResult {
    const sort = this.#sort.value
    const isOwn = sort?.column === column
    const choose = () => {
      if (!isOwn) this.#sort.value = { column, isDown: column === 'Changed' }
      else this.#sort.value = { column, isDown: !sort.isDown }
    }
    const order = isOwn ? (sort.isDown ? 'descending' : 'ascending') : nothing
    const mark = isOwn ? (sort.isDown ? ' ↓' : ' ↑') : ''
    return html`<th scope="col" class=${`column-${column.toLowerCase()}`} aria-sort=${order}><button class="plain" title="Sort these rows" @click=${choose}>${column}${mark}</button></th>`
  }

  #rowView({ path, name, isTopic, hasChildren }: Row, mayRemove: boolean): TemplateResult {
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
        ${mayRemove ? html`<td><input type="checkbox" aria-label=${`Choose ${visible(name)}`} .checked=${this.#chosen.value.has(path)} @change=${choose}></td>` : nothing}
        <td><a class="exact" href=${addressOfPath(path)}>${visible(name)}${hasChildren ? '/' : ''}</a></td>
        <td>${valueView(item?.text, isTopic, item === undefined ? items.isLoaded(path) : undefined)}</td>
        <td class="quiet column-type">${item?.type ?? ''}</td>
        <td class="quiet">${item?.updated === undefined ? '' : html`<time datetime=${item.updated}>${timeText(item.updated)}</time>`}</td>
      </tr>`
  }

  #sorted(rows: readonly Row[]): readonly Row[] {
    const sort = this.#sort.value
    if (sort === undefined) return rows
    const { column, isDown } = sort
    const of = ({ path, name }: Row): string => {
      const item = this.context.items.get(path)
      const { text = '', type = '', updated = '' } = item ?? {}
      return { Name: name, Value: text, Type: type, Changed: updated }[column]
    }
    const sorted = rows.toSorted((a, b) => compareValues(of(a), of(b)))
    return isDown ? sorted.reverse() : sorted
  }

  #choiceView(rows: readonly Row[]): TemplateResult | typeof nothing {
    const { context } = this
    const chosen = rows.filter(({ path }) => this.#chosen.value.has(path)).map(({ path }) => path)
    if (chosen.length === 0) return nothing
    const remove = () => {
      const choices = [
        ['the topics themselves', ...selectorsOf(chosen, topic)],
        ['the topics and everything below them', ...selectorsOf(chosen, subtree)],
      ] as const
      const named = `${chosen.slice(0, namedMax).map(visible).join(', ')}${chosen.length > namedMax ? ', …' : ''}`
      this.#chosen.value = new Set()
      context.dialogs.open((close) => new RemoveDialog(named, choices, context, close))
    }
    return html`<p class="row chosen">
      <span role="status">${chosen.length} chosen</span>
      <button class="danger" @click=${remove}>${icon('remove')}Remove chosen…</button>
      <button class="plain" @click=${() => (this.#chosen.value = new Set())}>Choose none</button>
    </p>`
  }
}

/** Chosen rows that the dialog names. */
const namedMax = 5

const columns: readonly Column[] = ['Name', 'Value', 'Type', 'Changed']

/** @param isGone false while it has not arrived yet; undefined if it is there */
function valueView(text: string | undefined, isTopic: boolean, isGone: boolean | undefined): TemplateResult | string {
  if (text !== undefined) return html`<span class="exact">${shortened(text, valueCharactersMax)}</span>`
  if (!isTopic || isGone === false) return ''
  return html`<span class="quiet">${isGone ? 'removed' : 'no value'}</span>`
}

/** Numbers by their size, and anything else in natural order. */
function compareValues(a: string, b: string): number {
  const [x, y] = [a, b].map((text) => (text === '' ? Number.NaN : Number(text)))
  return Number(x) - Number(y) || compareNaturally(a, b)
}

interface Pages {
  /** Of the first row, from 1. */
  readonly first: number
  readonly count: number
  /** Undefined if it is not known. */
  readonly total: number | undefined
  readonly hasMore: boolean
  readonly isTurning: boolean
  readonly turn: (by: 1 | -1) => void
}

/** Above a table and below it. @param place tells the two apart */
export function pagesView({ first, count, total, hasMore, isTurning, turn }: Pages, place: 'above' | 'below') {
  const known = total === undefined ? '' : ` of ${total.toLocaleString('en')}`
  const text = count === 0 ? 'Nothing' : `${first.toLocaleString('en')}–${(first + count - 1).toLocaleString('en')}`
  const isAll = first === 1 && !hasMore
  return html`<p class="row pages">
    <span class="quiet" role=${place === 'above' ? 'status' : nothing}>${text}${known}</span>
    ${
      isAll
        ? nothing
        : html`
    <button class="quiet-button" aria-disabled=${first === 1 || isTurning} @click=${() => first > 1 && turn(-1)}>Previous page</button>
    <button class="quiet-button" aria-disabled=${!hasMore || isTurning} @click=${() => hasMore && turn(1)}>Next page</button>`
    }
  </p>`
}
