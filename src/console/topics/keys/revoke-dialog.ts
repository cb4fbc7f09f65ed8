/** The dialog that revokes an API key: it says what stops working, and asks. */
import { signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import type { Context } from '../context.js'
import type { Dialog } from '../dialogs/dialogs.js'
import { nowMs } from '../drawing.js'
import { describeFailure } from '../failures.js'
import { agoText, visible } from '../value-text.js'
import { type Key, revoke } from './wire.js'

export class RevokeDialog implements Dialog {
  readonly #problem = signal('')
  readonly #isBusy = signal(false)

  constructor(
    private readonly key: Key,
    private readonly context: Context,
    private readonly close: () => boolean,
    private readonly onRevoked: () => void,
  ) {}

  view(): TemplateResult {
    const { name, allow, under, used } = this.key
    const isOwn = name === this.context.session.key.name
    const where = under.length === 0 ? '' : ` below ${under.map(visible).join(', ')}`
    const use =
      used === undefined
        ? 'No use of it is known, except perhaps in the last minute.'
        : `It was last used ${agoText(used, nowMs.value)}.`
    return html`
      <h2 id="dialog-title">Revoke an API key</h2>
      <p class="exact named"><bdi>${visible(name)}</bdi></p>
      <p>Every program that uses this key gets 401 immediately, and its streams end. It may ${allow.join(', ')}${where}. ${use}</p>
      ${isOwn ? html`<p class="notice">This is the key that you use here: you will be signed out.</p>` : nothing}
      <p>A revoked key cannot be restored.</p>
      ${this.#problem.value === '' ? nothing : html`<p class="bad" role="alert">${this.#problem.value}</p>`}
      <p class="row">
        <button class="danger" aria-disabled=${this.#isBusy.value} @click=${() => this.#revoke()}>Revoke ${visible(name)}</button>
        <button autofocus @click=${this.close}>Cancel</button>
      </p>
    `
  }

  async #revoke(): Promise<void> {
    if (this.#isBusy.value) return
    const { session, note } = this.context
    this.#isBusy.value = true
    try {
      await revoke(session, this.key.name)
      note(`Revoked ${visible(this.key.name)}.`)
      this.close()
      this.onRevoked()
    } catch (error) {
      this.#problem.value = describeFailure(error, this.context)
    }
    this.#isBusy.value = false
  }
}
