/** The fields for properties: each a name and a value, and for REMOVAL the period that people want most, in words. */
import { type Signal, signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'

type Properties = Readonly<Record<string, string>>

const plainRemoval = /^when no updates for (\d+)([smhd])$/i

const units = { s: 'seconds', m: 'minutes', h: 'hours', d: 'days' } as const

export class PropertiesField {
  /** In their order; a name may be empty, or come twice, while someone writes. */
  readonly #entries: Signal<readonly (readonly [name: string, value: string])[]>

  constructor(properties: Properties) {
    this.#entries = signal(Object.entries(properties))
  }

  /** @throws RangeError for a name that is empty or comes twice */
  get value(): Properties {
    const entries = this.#entries.value.filter(([name, value]) => name !== '' || value !== '')
    for (const [index, [name]] of entries.entries()) {
      if (name === '') throw new RangeError('A property has no name.')
      if (entries.findIndex(([other]) => other === name) !== index)
        throw new RangeError(`The property "${name}" is given twice.`)
    }
    return Object.fromEntries(entries)
  }

  view(): TemplateResult {
    const entries = this.#entries.value
    const hasRemoval = entries.some(([name]) => name === 'REMOVAL')
    const add = (name: string, value: string) => () => (this.#entries.value = [...entries, [name, value]])
    return html`
      <fieldset>
        <legend>Properties</legend>
        ${entries.map(([name, value], index) => this.#entryView(name, value, index))}
        <p class="row">
          <button type="button" class="quiet-button" @click=${add('', '')}>Add a property</button>
          ${hasRemoval ? nothing : html`<button type="button" class="quiet-button" @click=${add('REMOVAL', 'when no updates for 1h')}>Remove automatically…</button>`}
        </p>
      </fieldset>
    `
  }

  #entryView(name: string, value: string, index: number): TemplateResult {
    const put = (...entry: readonly (readonly [string, string])[]) =>
      (this.#entries.value = this.#entries.value.toSpliced(index, 1, ...entry))
    const textOf = ({ target }: Event) => (target as HTMLInputElement | HTMLSelectElement).value
    const [, count, unit = ''] = (name === 'REMOVAL' && plainRemoval.exec(value)) || []
    const removal = (amount: string, of: string) => put([name, `when no updates for ${amount}${of}`])
    return html`<p class="row property">
      <input class="exact" aria-label=${`Name of property ${index + 1}`} placeholder="NAME" spellcheck="false" .value=${name} @input=${(event: Event) => put([textOf(event), value])}>
      ${
        count === undefined
          ? html`<input class="exact" aria-label=${`Value of property ${index + 1}`} placeholder="value" spellcheck="false" .value=${value} @input=${(event: Event) => put([name, textOf(event)])}>`
          : html`<span class="row">remove after
        <input type="number" min="1" max="36500" class="number" aria-label="Period" .value=${count} @input=${(event: Event) => removal(textOf(event) || '1', unit)}>
        <select aria-label="Unit" @change=${(event: Event) => removal(count, textOf(event))}>${Object.entries(units).map(([letter, word]) => html`<option value=${letter} ?selected=${letter === unit.toLowerCase()}>${word}</option>`)}</select>
        without updates</span>`
      }
      <button type="button" class="quiet-button" aria-label=${`Leave out property ${index + 1}`} @click=${() => put()}>×</button>
    </p>`
  }
}
