/** The fields for properties: names and values, and, for the most common form of REMOVAL, a period with a unit. */
import { type Signal, signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'

type Properties = Readonly<Record<string, string>>

interface Entry {
  readonly name: string
  readonly value: string
  /** Number and unit of `when no updates for`, edited in place of the value. */
  readonly period?: readonly [count: string, unit: string]
}

const plainRemoval = /^when no updates for (\d+)([smhd])$/i

const units = { s: 'seconds', m: 'minutes', h: 'hours', d: 'days' } as const

export class PropertiesField {
  /** The properties in order; while the user is typing, a name may be empty or duplicate. */
  readonly #entries: Signal<readonly Entry[]>

  constructor(properties: Properties) {
    this.#entries = signal(Object.entries(properties).map(([name, value]) => entryOf(name, value)))
  }

  /** @throws RangeError for an empty or duplicate name */
  get value(): Properties {
    const entries = this.#entries.value.filter(({ name, value, period }) => name !== '' || value !== '' || period)
    const names = entries.map(({ name }) => name)
    if (names.includes('')) throw new RangeError('A property has no name.')
    const twice = names.find((name, index) => names.indexOf(name) !== index)
    if (twice !== undefined) throw new RangeError(`There are two properties named "${twice}".`)
    const writtenOf = ({ value, period }: Entry) => (period ? `when no updates for ${period.join('')}` : value)
    return Object.fromEntries(entries.map((entry) => [entry.name, writtenOf(entry)]))
  }

  view(): TemplateResult {
    const entries = this.#entries.value
    const add = (name: string, value: string) => () => (this.#entries.value = [...entries, entryOf(name, value)])
    return html`
      <fieldset>
        <legend>Properties</legend>
        ${entries.map((entry, index) => this.#entryView(entry, index))}
        <p class="row">
          <button type="button" class="quiet-button" @click=${add('', '')}>Add a property</button>
          ${entries.some(({ name }) => name === 'REMOVAL') ? nothing : html`<button type="button" class="quiet-button" @click=${add('REMOVAL', 'when no updates for 1h')}>Remove automatically…</button>`}
        </p>
      </fieldset>
    `
  }

  #entryView(entry: Entry, index: number): TemplateResult {
    const put = (...by: readonly Entry[]) => (this.#entries.value = this.#entries.value.toSpliced(index, 1, ...by))
    const field = (label: string, placeholder: string, value: string, toEntry: (text: string) => Entry) => {
      const onInput = ({ target }: Event) => put(toEntry((target as HTMLInputElement).value))
      return html`<input class="exact" aria-label=${`${label} of property ${index + 1}`} placeholder=${placeholder} spellcheck="false" .value=${value} @input=${onInput}>`
    }
    return html`<p class="row property">
      ${field('Name', 'NAME', entry.name, (name) => ({ ...entry, name }))}
      ${entry.period === undefined ? field('Value', 'value', entry.value, (value) => ({ ...entry, value })) : periodView(entry.period, (period) => put({ ...entry, period }))}
      <button type="button" class="quiet-button" aria-label=${`Remove property ${index + 1}`} @click=${() => put()}>×</button>
    </p>`
  }
}

function entryOf(name: string, value: string): Entry {
  const [, count, unit] = (name === 'REMOVAL' && plainRemoval.exec(value)) || []
  return count === undefined || unit === undefined
    ? { name, value }
    : { name, value, period: [count, unit.toLowerCase()] }
}

function periodView([count, unit]: NonNullable<Entry['period']>, put: (period: [string, string]) => void) {
  const textOf = ({ target }: Event) => (target as HTMLInputElement | HTMLSelectElement).value
  return html`<span class="row">remove after
    <input type="number" min="1" max="36500" step="1" required class="number" aria-label="Period" .value=${count} @input=${(event: Event) => put([textOf(event), unit])}>
    <select aria-label="Unit" @change=${(event: Event) => put([count, textOf(event)])}>${Object.entries(units).map(([letter, word]) => html`<option value=${letter} ?selected=${letter === unit}>${word}</option>`)}</select>
    without updates</span>`
}
