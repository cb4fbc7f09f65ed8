/**
 * The dialog that creates, rotates or revokes an API key. It then shows the new token, which is kept nowhere else and dropped when
 * the dialog closes.
 */
import { signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import type { ChangedKey, CreateKeyBody, KeysBody, ListedKeyEntry } from '../../../api/bodies/key-bodies.js'
import { minutesAgoText, timeText, utcText } from '../../shared/formats.js'
import type { Context } from '../context.js'
import { copyButton } from '../copy.js'
import { FormDialog } from '../dialogs/form-dialog.js'
import { nowMs } from '../drawing.js'
import { ask, type Session } from '../session.js'
import { visible } from '../value-text.js'

export type Subject =
  /** `own` is this session's key, whose limits a new key cannot exceed; undefined if they are unknown. */
  | { readonly op: 'create'; readonly own: ListedKeyEntry | undefined; readonly key?: undefined }
  | { readonly op: 'rotate' | 'revoke'; readonly key: ListedKeyEntry }

/** Title and button. */
const words = {
  create: ['Create an API key', 'Create'],
  rotate: ['Give an API key a new token', 'Rotate'],
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
    return this.#issued.peek() && 'Close? The token will not be shown again.'
  }

  /** Drops the token. */
  leave(): void {
    this.#issued.value = undefined
  }

  override view(): TemplateResult {
    const issued = this.#issued.value
    return issued === undefined ? super.view() : this.#tokenView(issued)
  }

  protected fields(): TemplateResult {
    const { subject, context } = this
    const own = context.session.key
    if (subject.op === 'create') return creationFields(own, subject.own?.rate)
    const { op, key } = subject
    const isOwn = key.name === own.name
    return html`
      <p class="exact named"><bdi>${visible(key.name)}</bdi></p>
      ${op === 'rotate' ? rotationFields(key, isOwn) : revocationText(key, isOwn)}
    `
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
      <h2 id="dialog-title">The token for <bdi class="exact">${visible(name)}</bdi></h2>
      <p class="exact value token" tabindex="0" role="group" aria-label="Token">${token}</p>
      <p class="row">${copyButton('Copy the token', () => token, note)}<span role="status" class="good">${this.#copied.value}</span></p>
      <p class="notice">Copy the token now: it will not be shown again and cannot be recovered.</p>
      ${formerUntil === undefined ? nothing : html`<p>The old token is valid until <time datetime=${formerUntil}>${timeText(formerUntil)}</time>.</p>`}
      ${late.length === 0 ? nothing : html`<p class="bad">These workers did not respond and may not accept the token yet: ${late.join(', ')}.</p>`}
      <p class="row"><button class="primary" autofocus @click=${() => this.context.dialogs.end(this)}>I have the token</button></p>
    `
  }

  protected async submit(form: FormData): Promise<void> {
    const { session, note, dialogs } = this.context
    // The second of two submissions before the token is drawn.
    if (this.#issued.peek() !== undefined) return
    const changed = await ask<ChangedKey>(session, 'keys', readFields(this.subject, form))
    this.onChanged()
    if (changed.token === undefined) {
      note(`Revoked ${visible(changed.name)}.`)
      dialogs.end(this)
    } else if (dialogs.shown.peek() !== this) note(`${visible(changed.name)} has a new token, which was not shown.`)
    else {
      this.#issued.value = changed
      this.hasInput = true
    }
  }
}

function creationFields({ allow, expires }: Session['key'], rate: number | undefined): TemplateResult {
  const latest = expires === undefined ? 'never' : `with your key, ${utcText(expires)}`
  return html`
    <label for="key-name">Name</label>
    <input id="key-name" name="name" class="exact" autocomplete="off" spellcheck="false" required maxlength="64" pattern="[A-Za-z0-9_.@\\-]+" title="1 to 64 letters, digits or any of . _ @ -" autofocus>
    <fieldset>
      <legend>Permissions</legend>
      ${allow.map((right) => html`<label class="choice"><input type="checkbox" name="allow" value=${right} ?checked=${right === 'fetch'}><span>${right}${right === 'admin' ? html` <span class="quiet">manages API keys; cannot be limited to subtrees</span>` : ''}</span></label>`)}
    </fieldset>
    <label for="key-under">Limited to these subtrees, one path per line; empty for all topics</label>
    <textarea id="key-under" name="under" class="exact" rows="2" spellcheck="false"></textarea>
    <label for="key-expires">Expires after a period such as 30d, or at a UTC time such as 2030-01-31; if empty: ${latest}</label>
    <input id="key-expires" name="expires" autocomplete="off" spellcheck="false">
    <label for="key-rate">Requests per second; if empty: ${rate === undefined ? 'unlimited' : `${rate}, like your key`}</label>
    <input id="key-rate" name="rate" type="number" min="1" max=${rate ?? 1_000_000} step="1">
  `
}

const graces = [
  ['1h', 'for an hour'],
  ['0s', 'not at all'],
  ['10m', 'for 10 minutes'],
  ['1d', 'for a day'],
  ['7d', 'for 7 days'],
] as const

/** @param isOwn true for this session's key: the page needs the old token until the user has the new one */
function rotationFields({ former_until: formerUntil }: ListedKeyEntry, isOwn: boolean): TemplateResult {
  const offered = graces.filter(([period]) => !isOwn || period !== '0s')
  return html`
    <label for="key-grace">The old token stays valid</label>
    <select id="key-grace" name="grace" autofocus>${offered.map(([period, words]) => html`<option value=${period}>${words}</option>`)}</select>
    ${formerUntil === undefined ? nothing : html`<p class="notice">The token that the last rotation replaced expires immediately.</p>`}
    ${isOwn ? html`<p class="notice">You are signed in with this key. Sign in with the new token before the old one expires.</p>` : nothing}
  `
}

function revocationText({ allow, under, used }: ListedKeyEntry, isOwn: boolean): TemplateResult {
  const where = under.length === 0 ? '' : ` below ${under.map(visible).join(', ')}`
  const use =
    used === undefined
      ? 'It has no recorded use, but may have been used in the last minute.'
      : `It was last used ${minutesAgoText(used, nowMs.value)}.`
  return html`
    <p>Every program that uses this key gets 401 immediately, and its streams end. The key allows ${allow.join(', ')}${where}. ${use}</p>
    ${isOwn ? html`<p class="notice">You are signed in with this key and will be signed out.</p>` : nothing}
    <p>A revoked key cannot be restored.</p>
  `
}

/** @throws RangeError if no permission is selected */
function readFields({ op, key }: Subject, form: FormData): KeysBody {
  const text = (name: string): string => String(form.get(name) ?? '').trim()
  if (op === 'rotate') return { op, name: key.name, keep_former_for: text('grace') }
  if (op === 'revoke') return { op, name: key.name }
  const allow = form.getAll('allow') as NonNullable<CreateKeyBody['allow']>
  if (allow.length === 0) throw new RangeError('Select at least one permission.')
  const [expires, rate] = [text('expires'), text('rate')]
  // Not trimmed, because a path may start or end with a space.
  const under = String(form.get('under') ?? '').split(/\r?\n/)
  return {
    op,
    name: text('name'),
    allow,
    under: under.filter((line) => line !== ''),
    ...(expires === '' ? {} : { expires }),
    ...(rate === '' ? {} : { rate: Number(rate) }),
  }
}
