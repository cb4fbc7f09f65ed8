/**
 * The dialog that creates, rotates or revokes an API key. It asks, sends, and then shows the new token, which is nowhere else: it is
 * dropped as the dialog closes. key-fields.ts has what it asks.
 */
import { signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import type { ChangedKey } from '../../../api/bodies/key-bodies.js'
import type { Context } from '../context.js'
import { copyButton } from '../copy.js'
import { FormDialog } from '../dialogs/form-dialog.js'
import { ask } from '../session.js'
import { timeText, visible } from '../value-text.js'
import { fieldsOf, readFields, type Subject } from './key-fields.js'

/** Title and button. */
const words = {
  create: ['Create an API key', 'Create'],
  rotate: ['Give an API key another token', 'Rotate'],
  revoke: ['Revoke an API key', 'Revoke'],
} as const

export class KeyDialog extends FormDialog {
  readonly #issued = signal<ChangedKey | undefined>(undefined)
  readonly #copied = signal('')

  constructor(
    private readonly subject: Subject,
    context: Context,
    private readonly onChanged: () => void,
  ) {
    super(context, words[subject.op][0], words[subject.op][1])
  }

  get closeQuestion(): string | undefined {
    return this.#issued.peek() && 'Close? The token is not shown again.'
  }

  /** Nothing keeps the token. */
  leave(): void {
    this.#issued.value = undefined
  }

  override view(): TemplateResult {
    const issued = this.#issued.value
    return issued === undefined ? super.view() : this.#tokenView(issued)
  }

  protected fields(): TemplateResult {
    return fieldsOf(this.subject, this.context.session.key)
  }

  protected override buttons(action: string): TemplateResult {
    const { op, key } = this.subject
    if (op !== 'revoke') return super.buttons(action)
    return html`
      <button class="danger" aria-disabled=${this.task.isBusy.value}>${action} ${visible(key.name)}</button>
      <button type="button" autofocus @click=${() => this.context.dialogs.end(this)}>Cancel</button>`
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
      <p class="row"><button class="primary" autofocus @click=${() => this.context.dialogs.end(this)}>I have the token</button></p>
    `
  }

  protected async submit(form: FormData): Promise<void> {
    const { session, note, dialogs } = this.context
    const changed = await ask<ChangedKey>(session, 'keys', readFields(this.subject, form))
    this.onChanged()
    if (changed.token === undefined) {
      note(`Revoked ${visible(changed.name)}.`)
      dialogs.end(this)
    } else if (dialogs.shown.peek() !== this) note(`${visible(changed.name)} has a token that was not shown.`)
    else {
      this.#issued.value = changed
      this.hasInput = true
    }
  }
}
