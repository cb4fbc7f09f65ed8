/** The fields of a rotation: how long the old token stays valid, so that programs can change to the new one. */
import { html, nothing, type TemplateResult } from 'lit-html'
import { visible } from '../value-text.js'
import type { Key, Rotation } from './wire.js'

const periods = [
  ['0s', 'not at all'],
  ['10m', 'for 10 minutes'],
  ['1h', 'for an hour'],
  ['1d', 'for a day'],
  ['7d', 'for 7 days'],
] as const

const proposed = '1h'

/** @param isOwn for the key of this session: the page needs the old token until the user has the new one */
export function rotateForm({ name, former_until: formerUntil }: Key, isOwn: boolean): TemplateResult {
  const offered = isOwn ? periods.slice(1) : periods
  return html`
    <p class="exact named"><bdi>${visible(name)}</bdi></p>
    <label for="key-grace">The old token stays valid</label>
    <select id="key-grace" name="grace" autofocus>${offered.map(([period, words]) => html`<option value=${period} ?selected=${period === proposed}>${words}</option>`)}</select>
    ${formerUntil === undefined ? nothing : html`<p class="notice">The token before it, from the last rotation, expires now.</p>`}
    ${isOwn ? html`<p class="notice">This is the key that you use here. Until the old token expires, sign in with the new one.</p>` : nothing}
  `
}

export function readRotation({ name }: Key, form: FormData): Rotation {
  return { op: 'rotate', name, keep_former_for: String(form.get('grace') ?? proposed) }
}
