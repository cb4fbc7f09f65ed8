/**
 * The dialog that creates, rotates or revokes an API key. It asks, sends, and then shows the new token, which is nowhere else: it is
 * dropped as the dialog closes. key-fields.ts has what it asks.
 */
import { signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import type { ChangedKey } from '../../../api/bodies/key-bodies.js'
import type { Context } from '../context.js'
import { copyButton } from '../copy.js'
import type { Dialog } from '../dialogs/dialogs.js'
import { describeFailure } from '../failures.js'
import { timeText, visible } from '../value-text.js'
import { fieldsOf, readFields, type Subject } from './key-fields.js'
import { askKeys } from './wire.js'

const titles = {
  create: 'Create an API key',
  rotate: 'Give an API key another token',
  revoke: 'Revoke an API key',
} as const

export class KeyDialog implements Dialog {
  /** The key is not what the page shows next to it. */
  readonly staysOpen = true
  isWritten = false
  readonly #issued = signal<ChangedKey | undefined>(undefined)
  readonly #problem = signal('')
  readonly #copied = signal('')
  readonly #isBusy = signal(false)
  #isClosed = false

  constructor(
    private readonly subject: Subject,
    private readonly context: Context,
    private readonly close: () => boolean,
    private readonly onChanged: () => void,
  ) {}

  get closeQuestion(): string | undefined {
    return this.#issued.peek() && 'Close? The token is not shown again.'
  }

  /** Nothing keeps the token. */
  abandon(): void {
    this.#isClosed = true
    this.#issued.value = undefined
    this.isWritten = false
  }

  #end(): void {
    this.abandon()
    this.close()
  }

  view(): TemplateResult {
    const issued = this.#issued.value
    return issued === undefined ? this.#questionView() : this.#tokenView(issued)
  }

  #questionView(): TemplateResult {
    const { op, key } = this.subject
    const action = { create: 'Create', rotate: 'Rotate', revoke: `Revoke ${visible(key?.name ?? '')}` }[op]
    const onSubmit = (event: SubmitEvent) => {
      event.preventDefault()
      void this.#send(new FormData(event.target as HTMLFormElement))
    }
    return html`
      <h2 id="dialog-title">${titles[op]}</h2>
      <form @submit=${onSubmit} @input=${() => (this.isWritten = true)}>
        ${fieldsOf(this.subject, this.context.session.key)}
        ${this.#problem.value === '' ? nothing : html`<p class="bad" role="alert">${this.#problem.value}</p>`}
        <p class="row">
          <button class=${op === 'revoke' ? 'danger' : 'primary'} aria-disabled=${this.#isBusy.value}>${action}</button>
          <button type="button" ?autofocus=${op === 'revoke'} @click=${() => this.#end()}>Cancel</button>
        </p>
      </form>
    `
  }

  #tokenView({ name, token = '', former_until: formerUntil, late = [] }: ChangedKey): TemplateResult {
    const note = (text: string) => (this.#copied.value = text)
    return html`
      <h2 id="dialog-title">The token of <bdi class="exact">${visible(name)}</bdi></h2>
      <p class="exact value token" tabindex="0" role="group" aria-label="Token">${token}</p>
      <p class="row">${copyButton('Copy the token', () => token, note)}<span role="status" class="good">${this.#copied.value}</span></p>
      <p class="notice">Copy it now: it is not shown again, and no one can look it up.</p>
      ${formerUntil === undefined ? nothing : html`<p>The old token is valid until <time datetime=${formerUntil}>${timeText(formerUntil)}</time>.</p>`}
      ${late.length === 0 ? nothing : html`<p class="bad">Workers that did not respond may not know it yet: ${late.join(', ')}.</p>`}
      <p class="row"><button class="primary" autofocus @click=${() => this.#end()}>I have the token</button></p>
    `
  }

  async #send(form: FormData): Promise<void> {
    if (this.#isBusy.value) return
    const { session, note } = this.context
    this.#isBusy.value = true
    this.#problem.value = ''
    try {
      const changed = await askKeys<ChangedKey>(session, readFields(this.subject, form))
      this.onChanged()
      if (changed.token === undefined) {
        note(`Revoked ${visible(changed.name)}.`)
        this.#end()
      } else if (this.#isClosed) note(`${visible(changed.name)} has a token that was not shown.`)
      else {
        this.#issued.value = changed
        this.isWritten = true
      }
    } catch (error) {
      this.#problem.value = describeFailure(error, this.context)
    }
    this.#isBusy.value = false
  }
}
