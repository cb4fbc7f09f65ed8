/**
 * The dialog that creates, duplicates or renames a topic, or changes its properties. Path and properties are fixed when a topic is
 * created, so a change removes and recreates the topic in one batch, provided that its version is still the same.
 */
import { type Signal, signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import { untilSatisfied } from '../../../client/conflicts.js'
import { type Item, type JsonText, jsonText, type Operation } from '../../../client/index.js'
import { addressOfPath } from '../address.js'
import type { Context } from '../context.js'
import { isConflict } from '../failures.js'
import { may } from '../session.js'
import { editableOf, valueIn, visible, withLineEnds } from '../value-text.js'
import { FormDialog } from './form-dialog.js'
import { PropertiesField } from './properties-field.js'

/** Maximum attempts if other clients write the topic. */
const attemptsMax = 5

/** Title, button, and the note that precedes the path. */
const words = {
  create: ['Create a topic', 'Create', 'Created'],
  duplicate: ['Duplicate the topic', 'Create', 'Created'],
  rename: ['Rename the topic', 'Rename', 'Renamed to'],
  properties: ['Change the properties', 'Change', 'Changed'],
} as const

export class TopicDialog extends FormDialog {
  readonly #type: Signal<Item['type']>
  readonly #properties: PropertiesField

  /** @param path the topic's path, or the proposed path of a new topic @param item undefined for a new topic */
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
      ${kind === 'rename' && this.context.names.hasBelow(path) ? html`<p class="notice">The topics below it keep their paths. <code>topicd rename OLD NEW</code> renames all of them.</p>` : nothing}
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
          ? html`<label for="create-value">${type === 'string' ? 'Value as plain text; empty for no value' : 'Value as JSON; empty for no value'}</label>
      <textarea id="create-value" name="value" rows="5" spellcheck="false" .value=${this.#text}></textarea>`
          : nothing
      }`
  }

  get #text(): string {
    return this.item === undefined ? '' : editableOf(this.item)
  }

  /** The operations to send. A recreated topic keeps every digit of its value. */
  async #operations(path: string, text: string): Promise<readonly Operation[]> {
    const properties = this.#properties.value
    const constraint = { no_topic: true } as const
    if (this.kind === 'create' || this.kind === 'duplicate') {
      return [creation({ path, type: this.#type.value, properties, constraint }, this.#valueOf(text))]
    }
    const { client } = this.context.session
    const item = await client.get(this.path, { type: 'any', with_version: true, with_properties: true })
    if (item === undefined) throw new RangeError('The topic has been removed.')
    if (this.kind === 'properties' && !haveSame(item.properties, this.item?.properties))
      throw new RangeError('Another client has changed the properties; nothing was changed. Open this form again.')
    const { type } = item
    const topic = { path, type, properties: this.kind === 'rename' ? item.properties : properties, constraint }
    const removal = { op: 'remove', path: item.path, constraint: { version: item.version ?? 0 } } as const
    return [removal, creation(topic, item.text && jsonText(item.text))]
  }

  /** Undefined for no value. If the text is unchanged, uses the original, which distinguishes an empty string from no value. */
  #valueOf(text: string): string | JsonText | undefined {
    const type = this.#type.value
    const written = withLineEnds(text, this.#text)
    if (type === this.item?.type && written === this.#text) return this.item.text && jsonText(this.item.text)
    return text === '' ? undefined : valueIn(type, written)
  }

  protected async submit(form: FormData): Promise<void> {
    const { kind } = this
    const { session, note, show, dialogs } = this.context
    const path = String(form.get('path') ?? this.path).replace(/^\/|\/$/g, '')
    const text = String(form.get('value') ?? '')
    if (kind === 'rename' && path === this.path) throw new RangeError('The topic already has this path.')
    if (kind === 'properties' && haveSame(this.#properties.value, this.item?.properties))
      throw new RangeError('The topic already has these properties.')
    let isCancelled = false
    // Retries only if another client wrote the removed topic between the two requests.
    const attempt = async () => {
      const operations = await this.#operations(path, text)
      isCancelled = dialogs.shown.peek() !== this
      if (isCancelled) return
      await session.client.batch(operations).catch((error: unknown) => {
        const isTaken = isConflict(error) && operations[error.operation ?? 0]?.op !== 'remove'
        throw isTaken ? new RangeError('A topic already exists at this path; nothing was changed.') : error
      })
    }
    await untilSatisfied(attempt, attemptsMax).catch((error: unknown) => {
      throw isConflict(error) ? new RangeError('Other clients keep changing the topic; nothing was changed.') : error
    })
    if (isCancelled) return
    note(`${words[kind][2]} ${visible(path)}.`)
    // If the dialog was closed, the user has moved on.
    if (dialogs.end(this) && may(session.key, 'fetch')) show(addressOfPath(path))
  }
}

/** Compares as the fields show them. */
function haveSame(...all: readonly Item['properties'][]): boolean {
  return new Set(all.map((properties) => JSON.stringify(new PropertiesField(properties ?? {}).value))).size === 1
}

type NewTopic = Omit<Extract<Operation, { readonly op: 'add' }>, 'op'>

/** The operation that creates a topic, with or without a value. */
function creation(topic: NewTopic, value: string | JsonText | undefined): Operation {
  return value === undefined ? { op: 'add', ...topic } : { op: 'addAndSet', ...topic, value }
}
