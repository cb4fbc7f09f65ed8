/** The dialog that creates a topic, unless there is one already. */

import { html, nothing, type TemplateResult } from 'lit-html'
import { jsonText, TopicdError } from '../../../client/index.js'
import { type Context, describeFailure, type NewTopic } from '../context.js'
import { may } from '../session.js'
import { visible } from '../value-text.js'
import type { Dialog } from './dialogs.js'

const emptyTopic: NewTopic = { type: 'json', properties: {}, text: undefined }

export class CreateDialog implements Dialog {
  readonly staysOpen = true
  #problem = ''
  #isBusy = false
  isWritten = false
  /** True once the properties' field was edited: its lines cannot hold every property there may be. */
  #hasOwnProperties = false

  /** @param path initial text of its field @param as initial values of the other fields */
  constructor(
    private readonly path: string,
    private readonly as = emptyTopic,
    private readonly context: Context /** Returns whether it was still open. */,
    private readonly close: () => boolean,
  ) {}

  mayClose(): boolean {
    return !this.isWritten || confirm('Close and lose what you have written?')
  }

  view(): TemplateResult {
    const { type, properties = {}, text = '' } = this.as
    const lines = Object.entries(properties).map(([name, value]) => `${name}=${value}`)
    const onInput = ({ target }: Event) => {
      this.isWritten = true
      if ((target as Element).id === 'create-properties') this.#hasOwnProperties = true
    }
    const onSubmit = (event: SubmitEvent) => {
      event.preventDefault()
      void this.#create(new FormData(event.target as HTMLFormElement))
    }
    return html`
      <form @submit=${onSubmit} @input=${onInput}>
        <h2 id="dialog-title">Create a topic</h2>
        <label for="create-path">Path</label>
        <input id="create-path" name="path" class="exact" autocomplete="off" spellcheck="false" required .value=${this.path}>
        <label for="create-type">Type</label>
        <select id="create-type" name="type"><option ?selected=${type === 'json'}>json</option><option ?selected=${type === 'string'}>string</option></select>
        ${
          may(this.context.session.key, 'set')
            ? html`<label for="create-value">Value, as JSON (a string in double quotes); empty for none</label>
        <textarea id="create-value" name="value" rows="5" spellcheck="false" .value=${text}></textarea>`
            : nothing
        }
        <label for="create-properties">Properties, one NAME=VALUE per line</label>
        <textarea id="create-properties" name="properties" rows="2" spellcheck="false" .value=${lines.join('\n')}></textarea>
        ${this.#problem === '' ? nothing : html`<p class="bad" role="alert">${this.#problem}</p>`}
        <p class="row">
          <button class="primary" aria-disabled=${this.#isBusy}>Create</button>
          <button type="button" @click=${this.close}>Cancel</button>
        </p>
      </form>
    `
  }

  async #create(form: FormData): Promise<void> {
    const text = (name: string): string => String(form.get(name) ?? '')
    const [path, value] = [text('path'), text('value').trim()]
    const type = text('type') === 'string' ? 'string' : 'json'
    if (this.#isBusy) return
    this.#isBusy = true
    this.context.changed()
    try {
      const properties = this.#hasOwnProperties ? propertiesIn(text('properties')) : this.as.properties
      const options = { type, properties, constraint: { no_topic: true } } as const
      const { client } = this.context.session
      if (value === '') await client.add(path, options)
      else await client.addAndSet(path, jsonText(value), options)
      this.context.listsChanged()
      this.context.note(`Created ${visible(path)}.`)
      // If the dialog was closed, the user has moved on.
      if (this.close() && may(this.context.session.key, 'fetch')) this.context.show(path.replace(/^\/|\/$/g, ''))
    } catch (error) {
      this.#isBusy = false
      this.#problem = describeProblem(error, this.context)
      this.context.changed()
    }
  }
}

function describeProblem(error: unknown, context: Context): string {
  if (error instanceof SyntaxError) return `The value is not JSON: ${error.message}.`
  if (error instanceof TopicdError && error.code === 'unsatisfied_constraint') {
    return 'There is already a topic at this path; nothing was changed.'
  }
  return describeFailure(error, context)
}

/** @throws RangeError for a line that is not NAME=VALUE, or a name that comes twice */
function propertiesIn(text: string): Readonly<Record<string, string>> {
  const properties = new Map<string, string>()
  for (const line of text.split('\n').filter((line) => line.trim() !== '')) {
    const at = line.indexOf('=')
    const name = line.slice(0, Math.max(at, 0)).trim()
    if (name === '') throw new RangeError(`The property "${line}" is not NAME=VALUE.`)
    if (properties.has(name)) throw new RangeError(`The property "${name}" is given twice.`)
    properties.set(name, line.slice(at + 1).trim())
  }
  return Object.fromEntries(properties)
}
