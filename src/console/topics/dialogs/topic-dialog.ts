/**
 * The dialog of a topic as a whole: it creates one, duplicates one, or puts one at another path or with other properties, which a
 * topic has from its creation on: then it is removed and created in one batch, only if it is still as it was shown.
 */
import { signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import { untilSatisfied } from '../../../client/conflicts.js'
import { type Item, jsonText, type Operation, TopicdError } from '../../../client/index.js'
import { addressOfPath } from '../address.js'
import type { Context } from '../context.js'
import { describeFailure, isConflict } from '../failures.js'
import { may } from '../session.js'
import { editableOf, valueIn, visible, withLineEnds } from '../value-text.js'
import type { Dialog } from './dialogs.js'
import { PropertiesField } from './properties-field.js'

type Subject =
  | { readonly kind: 'create'; readonly path: string }
  | { readonly kind: 'duplicate' | 'rename' | 'properties'; readonly item: Item }

/** While others write the topic. */
const attemptsMax = 5

const titles = {
  create: 'Create a topic',
  duplicate: 'Duplicate the topic',
  rename: 'Rename the topic',
  properties: 'Change the properties',
} as const

const actions = { create: 'Create', duplicate: 'Create', rename: 'Rename', properties: 'Change' } as const

const results = { create: 'Created', duplicate: 'Created', rename: 'Renamed to', properties: 'Changed' } as const

export class TopicDialog implements Dialog {
  readonly staysOpen = true
  isWritten = false
  readonly #type = signal<Item['type']>('json')
  readonly #problem = signal('')
  readonly #isBusy = signal(false)
  readonly #properties: PropertiesField

  constructor(
    private readonly subject: Subject,
    private readonly context: Context,
    /** Returns whether it was still open. */
    private readonly close: () => boolean,
  ) {
    if (subject.kind !== 'create') this.#type.value = subject.item.type
    this.#properties = new PropertiesField(subject.kind === 'create' ? {} : (subject.item.properties ?? {}))
  }

  view(): TemplateResult {
    const { kind } = this.subject
    const isSame = kind === 'properties'
    const path = 'path' in this.subject ? this.subject.path : this.subject.item.path
    const onSubmit = (event: SubmitEvent) => {
      event.preventDefault()
      void this.#submit(new FormData(event.target as HTMLFormElement))
    }
    return html`
      <h2 id="dialog-title">${titles[kind]}</h2>
      <form @submit=${onSubmit} @input=${() => (this.isWritten = true)}>
        <label for="create-path">Path</label>
        <input id="create-path" name="path" class="exact" autocomplete="off" spellcheck="false" required ?readonly=${isSame} autofocus .value=${path}>
        ${kind === 'create' || kind === 'duplicate' ? this.#valueView() : nothing}
        ${kind === 'rename' ? nothing : this.#properties.view()}
        ${this.#problem.value === '' ? nothing : html`<p class="bad" role="alert">${this.#problem.value}</p>`}
        <p class="row">
          <button class="primary" aria-disabled=${this.#isBusy.value}>${actions[kind]}</button>
          <button type="button" @click=${this.close}>Cancel</button>
        </p>
      </form>
    `
  }

  #valueView(): TemplateResult {
    const type = this.#type.value
    const text = this.subject.kind === 'create' ? '' : editableOf(this.subject.item)
    const choose = ({ target }: Event) => {
      this.#type.value = (target as HTMLSelectElement).value === 'string' ? 'string' : 'json'
    }
    return html`
      <label for="create-type">Type</label>
      <select id="create-type" @change=${choose}><option ?selected=${type === 'json'}>json</option><option ?selected=${type === 'string'}>string</option></select>
      ${
        may(this.context.session.key, 'set')
          ? html`<label for="create-value">${type === 'string' ? 'Value, as plain text; empty for none' : 'Value, as JSON; empty for none'}</label>
      <textarea id="create-value" name="value" rows="5" spellcheck="false" .value=${text}></textarea>`
          : nothing
      }`
  }

  /** One that was removed and created again keeps its value to the last digit. */
  async #operations(path: string, text: string): Promise<readonly Operation[]> {
    const { subject } = this
    const type = this.#type.value
    const properties = this.#properties.value
    if (subject.kind === 'create' || subject.kind === 'duplicate') {
      const topic = { path, type, properties, constraint: { no_topic: true } } as const
      const written = withLineEnds(text, 'item' in subject ? editableOf(subject.item) : '')
      return [text === '' ? { op: 'add', ...topic } : { op: 'addAndSet', ...topic, value: valueIn(type, written) }]
    }
    const { client } = this.context.session
    const item = await client.get(subject.item.path, { type: 'any', with_version: true, with_properties: true })
    if (item === undefined) throw new RangeError('The topic has been removed.')
    const topic = { path, type, properties: subject.kind === 'rename' ? item.properties : properties } as const
    return [
      { op: 'remove', path: item.path, constraint: { version: item.version ?? 0 } },
      item.text === undefined
        ? { op: 'add', ...topic, constraint: { no_topic: true } }
        : { op: 'addAndSet', ...topic, constraint: { no_topic: true }, value: jsonText(item.text) },
    ]
  }

  async #submit(form: FormData): Promise<void> {
    if (this.#isBusy.value) return
    const { session, note, show } = this.context
    const { kind } = this.subject
    const path = String(form.get('path') ?? '').replace(/^\/|\/$/g, '')
    this.#isBusy.value = true
    try {
      // Others may write it between the two requests.
      await untilSatisfied(
        async () => session.client.batch(await this.#operations(path, String(form.get('value') ?? ''))),
        this.subject.kind === 'create' ? 1 : attemptsMax,
      )
      note(`${results[this.subject.kind]} ${visible(path)}.`)
      // If the dialog was closed, the user has moved on.
      if (this.close() && may(session.key, 'fetch')) show(addressOfPath(path))
    } catch (error) {
      const isChanged =
        error instanceof TopicdError && error.operation === 0 && (kind === 'rename' || kind === 'properties')
      const conflict = isChanged ? 'The topic changes all the time' : 'There is already a topic at this path'
      this.#problem.value = isConflict(error)
        ? `${conflict}; nothing was changed.`
        : describeFailure(error, this.context)
    }
    this.#isBusy.value = false
  }
}
