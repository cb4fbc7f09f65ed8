/** The fields for properties: names and values, and, for the most common form of REMOVAL, a period with a unit. */
import { type Signal, signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'

type Properties = Readonly<Record<string, string>>

/** Each field has its own signal: two inputs before the next draw both count. */
interface Entry {
  readonly name: Signal<string>
  readonly value: Signal<string>
  /** Number and unit of `when no updates for`, edited in place of the value. */
  readonly period?: readonly [count: Signal<string>, unit: Signal<string>]
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
    const written = this.#entries.value.map(({ name, value, period }) => {
      const text = period ? `when no updates for ${period.map((part) => part.value).join('')}` : value.value
      return [name.value, text] as const
    })
    const named = written.filter(([name, value]) => name !== '' || value !== '')
    const names = named.map(([name]) => name)
    if (names.includes('')) throw new RangeError('A property has no name.')
    const twice = names.find((name, index) => names.indexOf(name) !== index)
    if (twice !== undefined) throw new RangeError(`There are two properties named "${twice}".`)
    return Object.fromEntries(named)
  }

  view(): TemplateResult {
    const entries = this.#entries.value
    const add = (name: string, value: string) => () =>
      (this.#entries.value = [...this.#entries.value, entryOf(name, value)])
    return html`
      <fieldset>
        <legend>Properties</legend>
        ${entries.map((entry, index) => this.#entryView(entry, index))}
        <p class="row">
          <button type="button" class="quiet-button" @click=${add('', '')}>Add a property</button>
          ${entries.some(({ name }) => name.value === 'REMOVAL') ? nothing : html`<button type="button" class="quiet-button" @click=${add('REMOVAL', 'when no updates for 1h')}>Remove automatically…</button>`}
        </p>
      </fieldset>
    `
  }

  #entryView(entry: Entry, index: number): TemplateResult {
    const { name, value, period } = entry
    const field = (label: string, placeholder: string, text: Signal<string>) =>
      html`<input class="exact" aria-label=${`${label} of property ${index + 1}`} placeholder=${placeholder} spellcheck="false" .value=${text.value} @input=${into(text)}>`
    const remove = () => (this.#entries.value = this.#entries.value.filter((other) => other !== entry))
    return html`<p class="row property">
      ${field('Name', 'NAME', name)}
      ${period === undefined ? field('Value', 'value', value) : periodView(...period)}
      <button type="button" class="quiet-button" aria-label=${`Remove property ${index + 1}`} @click=${remove}>×</button>
    </p>`
  }
}

function entryOf(name: string, value: string): Entry {
  const [, count, unit] = (name === 'REMOVAL' && plainRemoval.exec(value)) || []
  const entry = { name: signal(name), value: signal(value) }
  return count === undefined || unit === undefined
    ? entry
    : { ...entry, period: [signal(count), signal(unit.toLowerCase())] }
}

function into(text: Signal<string>): (event: Event) => void {
  return ({ target }) => {
    text.value = (target as HTMLInputElement | HTMLSelectElement).value
  }
}

function periodView(count: Signal<string>, unit: Signal<string>): TemplateResult {
  return html`<span class="row">remove after
    <input type="number" min="1" max="36500" step="1" required class="number" aria-label="Period" .value=${count.value} @input=${into(count)}>
    <select aria-label="Unit" @change=${into(unit)}>${Object.entries(units).map(([letter, word]) => html`<option value=${letter} ?selected=${letter === unit.value}>${word}</option>`)}</select>
    without updates</span>`
}
