/**
 * The dialog of a topic as a whole: it creates one, duplicates one, or puts one at another path or with other properties, which a
 * topic has from its creation on: then it is removed and created in one batch, only if it is still as it was shown.
 */
import { type Signal, signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import { untilSatisfied } from '../../../client/conflicts.js'
import { type Item, jsonText, type Operation } from '../../../client/index.js'
import { addressOfPath } from '../address.js'
import type { Context } from '../context.js'
import { isConflict } from '../failures.js'
import { may } from '../session.js'
import { editableOf, valueIn, visible, withLineEnds } from '../value-text.js'
import { FormDialog } from './form-dialog.js'
import { PropertiesField } from './properties-field.js'

/** While others write the topic. */
const attemptsMax = 5

/** Title, button, and the result before the path. */
const words = {
  create: ['Create a topic', 'Create', 'Created'],
  duplicate: ['Duplicate the topic', 'Create', 'Created'],
  rename: ['Rename the topic', 'Rename', 'Renamed to'],
  properties: ['Change the properties', 'Change', 'Changed'],
} as const

export class TopicDialog extends FormDialog {
  readonly #type: Signal<Item['type']>
  readonly #properties: PropertiesField

  /** @param path of a new topic, a proposal @param item undefined for a new topic */
  constructor(
    private readonly kind: keyof typeof words,
    context: Context,
    private readonly path: string,
    private readonly item?: Item,
  ) {
    super(context, words[kind][0], words[kind][1])
    this.#type = signal(item?.type ?? 'json')
    this.#properties = new PropertiesField(item?.properties ?? {})
  }

  protected fields(): TemplateResult {
    const { kind, path } = this
    return html`
      ${
        kind === 'properties'
          ? html`<p class="exact named"><bdi>${visible(path)}</bdi></p>`
          : html`<label for="create-path">Path</label>
      <input id="create-path" name="path" class="exact" autocomplete="off" spellcheck="false" required autofocus .value=${path}>`
      }
      ${kind === 'create' || kind === 'duplicate' ? this.#valueView() : nothing}
      ${kind === 'rename' ? nothing : this.#properties.view()}
    `
  }

  #valueView(): TemplateResult {
    const type = this.#type.value
    const choose = ({ target }: Event) => {
      this.#type.value = (target as HTMLSelectElement).value === 'string' ? 'string' : 'json'
    }
    return html`
      <label for="create-type">Type</label>
      <select id="create-type" @change=${choose}><option ?selected=${type === 'json'}>json</option><option ?selected=${type === 'string'}>string</option></select>
      ${
        may(this.context.session.key, 'set')
          ? html`<label for="create-value">${type === 'string' ? 'Value, as plain text; empty for none' : 'Value, as JSON; empty for none'}</label>
      <textarea id="create-value" name="value" rows="5" spellcheck="false" .value=${this.#text}></textarea>`
          : nothing
      }`
  }

  get #text(): string {
    return this.item === undefined ? '' : editableOf(this.item)
  }

  /** A topic that is removed and created again keeps its value to the last digit. */
  async #operations(path: string, text: string): Promise<readonly Operation[]> {
    const type = this.#type.value
    const properties = this.#properties.value
    const constraint = { no_topic: true } as const
    if (this.kind === 'create' || this.kind === 'duplicate') {
      const topic = { path, type, properties, constraint }
      if (text === '') return [{ op: 'add', ...topic }]
      return [{ op: 'addAndSet', ...topic, value: valueIn(type, withLineEnds(text, this.#text)) }]
    }
    const { client } = this.context.session
    const item = await client.get(this.path, { type: 'any', with_version: true, with_properties: true })
    if (item === undefined) throw new RangeError('The topic has been removed.')
    const topic = { path, type, properties: this.kind === 'rename' ? item.properties : properties, constraint }
    return [
      { op: 'remove', path: item.path, constraint: { version: item.version ?? 0 } },
      item.text === undefined ? { op: 'add', ...topic } : { op: 'addAndSet', ...topic, value: jsonText(item.text) },
    ]
  }

  protected async submit(form: FormData): Promise<void> {
    const { kind } = this
    const { session, note, show, dialogs } = this.context
    const path = String(form.get('path') ?? this.path).replace(/^\/|\/$/g, '')
    const text = String(form.get('value') ?? '')
    if (kind === 'rename' && path === this.path) throw new RangeError('The topic already has this path.')
    try {
      // Others may write it between the two requests.
      const attempt = async () => session.client.batch(await this.#operations(path, text))
      await untilSatisfied(attempt, kind === 'create' ? 1 : attemptsMax)
    } catch (error) {
      if (!isConflict(error)) throw error
      const isChanged = error.operation === 0 && (kind === 'rename' || kind === 'properties')
      const conflict = isChanged ? 'The topic changes all the time' : 'There is already a topic at this path'
      throw new RangeError(`${conflict}; nothing was changed.`)
    }
    note(`${words[kind][2]} ${visible(path)}.`)
    // If the dialog was closed, the user has moved on.
    if (dialogs.end(this) && may(session.key, 'fetch')) show(addressOfPath(path))
  }
}
