/** The fields of a new API key: at most what the key of this session has. */
import { html, type TemplateResult } from 'lit-html'
import type { Session } from '../session.js'
import { timeText } from '../value-text.js'
import type { Creation, Key } from './wire.js'

/** @param own with the limits of the session's key; undefined if they are not known */
export function createForm({ allow, expires }: Session['key'], own: Key | undefined): TemplateResult {
  const rate = own?.rate
  const latest = expires === undefined ? 'never' : `with your key, ${timeText(expires)}`
  return html`
    <label for="key-name">Name</label>
    <input id="key-name" name="name" class="exact" autocomplete="off" spellcheck="false" required maxlength="64" pattern="[A-Za-z0-9_.@\\-]+" title="1 to 64 letters, digits or any of . _ @ -" autofocus>
    <fieldset>
      <legend>Rights</legend>
      ${allow.map((right) => html`<label class="choice"><input type="checkbox" name="allow" value=${right} ?checked=${right === 'fetch'}><span>${right}${right === 'admin' ? html` <span class="quiet">administers API keys, and has no subtrees</span>` : ''}</span></label>`)}
    </fieldset>
    <label for="key-under">Below these paths, one on each line; empty for everything</label>
    <textarea id="key-under" name="under" class="exact" rows="2" spellcheck="false"></textarea>
    <label for="key-expires">Expires after a period such as 30d, or at a UTC time such as 2030-01-31; empty: ${latest}</label>
    <input id="key-expires" name="expires" autocomplete="off" spellcheck="false">
    <label for="key-rate">Requests per second; empty: ${rate === undefined ? 'any number' : `${rate}, as with your key`}</label>
    <input id="key-rate" name="rate" type="number" min="1" max=${rate ?? 1_000_000} step="1">
  `
}

/** @throws RangeError without any right */
export function readCreation(form: FormData): Creation {
  const text = (name: string): string => String(form.get(name) ?? '').trim()
  const allow = form.getAll('allow').map(String)
  if (allow.length === 0) throw new RangeError('Choose at least one right.')
  // A name may begin or end with a space.
  const under = String(form.get('under') ?? '')
    .split(/\r?\n/)
    .filter((line) => line !== '')
  const [expires, rate] = [text('expires'), text('rate')]
  return {
    op: 'create',
    name: text('name'),
    allow,
    under,
    expires: expires === '' ? undefined : expires,
    rate: rate === '' ? undefined : Number(rate),
  }
}
