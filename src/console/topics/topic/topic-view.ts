/** The view of a path: what it is, its value or the edit of it, its properties, what can be done, and its children. */
import { html, nothing, type TemplateResult } from 'lit-html'
import { type Item, subtree, topic } from '../../../client/index.js'
import { addressOfChanges, addressOfPath } from '../address.js'
import { copyButton } from '../copy.js'
import { curlCommand } from '../curl.js'
import { RemoveDialog } from '../dialogs/remove-dialog.js'
import { TopicDialog } from '../dialogs/topic-dialog.js'
import { nowMs } from '../drawing.js'
import { icon } from '../icons.js'
import { may } from '../session.js'
import { agoText, formattedOf, shortened, shownMax, sizeText, timeText, visible } from '../value-text.js'
import { editView } from './edit-view.js'
import type { TopicPanel } from './topic-panel.js'

export function topicView(panel: TopicPanel): TemplateResult {
  const { context, path, item } = panel
  return html`
    <section class="panel" aria-labelledby="topic-path">
      <div class="row">${pathView(path)}${copyButton('Copy path', () => path, context.note)}</div>
      <p role="status" class="good">${panel.done.value}</p>
      ${item === undefined ? missingView(panel, context.names.outage === undefined) : valueView(panel, item)}
      ${panel.edit.value === undefined ? nothing : editView(panel, panel.edit.value)}
      ${actionsView(panel)}
      ${item === undefined ? nothing : propertiesView(item.properties ?? {})}
      ${panel.children.view()}
    </section>
  `
}

/** Each segment leads to its branch. */
function pathView(path: string): TemplateResult {
  const segments = path.split('/')
  const parts = segments.map((segment, index) =>
    index === segments.length - 1
      ? visible(segment)
      : html`<a href=${addressOfPath(segments.slice(0, index + 1).join('/'))}>${visible(segment)}</a>/`,
  )
  return html`<h2 id="topic-path" class="exact" tabindex="-1">${parts}</h2>`
}

/** The service shows nothing to a key that may not fetch there. */
function missingView({ path, context, isLoaded }: TopicPanel, isConnected: boolean): TemplateResult {
  const { names, session } = context
  const { key } = session
  if (!may(key, 'fetch', path))
    return html`<p>This API key may not fetch this path; it may fetch below ${key.under.map(visible).join(', ')}.</p>`
  if (!isLoaded) return html`<p class="quiet">${isConnected ? 'Fetching…' : ''}</p>`
  return html`<p class="quiet">${names.hasBelow(path) ? 'There is no topic at this path, but there are topics below it.' : 'There is no topic at this path.'}</p>`
}

function valueView(panel: TopicPanel, item: Item): TemplateResult {
  const { context, path } = panel
  const { text, type, version, updated = '' } = item
  const count = context.items.changes(path)
  return html`
    <p class="row quiet">
      <span>Type ${type}</span>
      <span>${text === undefined ? 'no value' : sizeText(text)}</span>
      <span>Changed <time datetime=${updated}>${agoText(updated, nowMs.value)}, ${timeText(updated)}</time></span>
      <span>Version ${version}</span>
      ${text === undefined ? nothing : formChoice(panel, item)}
    </p>
    ${text === undefined ? nothing : html`<pre class=${`exact value${count === 0 ? '' : ` changed-${count % 2}`}`} tabindex="0" role="group" aria-label="Value">${shownText(panel, item, text)}</pre>`}
    ${
      text === undefined || text.length <= shownMax || panel.isWhole.value
        ? nothing
        : html`<p class="row"><span class="quiet">This is only the beginning.</span> <button class="quiet-button" @click=${() => (panel.isWhole.value = true)}>Show all ${sizeText(text)}</button></p>`
    }
  `
}

function formChoice({ isFormatted }: TopicPanel, item: Item): TemplateResult {
  const canFormat = formattedOf(item) !== undefined
  const choice = (name: string, value: boolean) => {
    const isChosen = (isFormatted.value && canFormat) === value
    return html`<button class="quiet-button" aria-pressed=${isChosen} ?disabled=${value && !canFormat} @click=${() => (isFormatted.value = value)}>${name}</button>`
  }
  return html`
    <span class="row" role="group" aria-label="How the value is shown">${choice('Formatted', true)}${choice('As stored', false)}</span>
    ${canFormat ? nothing : html`<span>too large to format</span>`}`
}

function shownText({ isFormatted, isWhole }: TopicPanel, item: Item, text: string): string {
  const formatted = isFormatted.value ? formattedOf(item) : undefined
  return formatted ?? (isWhole.value ? text : shortened(text, shownMax))
}

function propertiesView(properties: Readonly<Record<string, string>>): TemplateResult | typeof nothing {
  const entries = Object.entries(properties)
  if (entries.length === 0) return nothing
  return html`
    <h3>Properties</h3>
    <dl class="properties">
      ${entries.map(([name, value]) => html`<dt class="exact">${visible(name)}</dt><dd class="exact">${visible(value)}</dd>`)}
    </dl>
  `
}

/** If a branch has no topic, its changes and its request are of everything below it. */
function actionsView(panel: TopicPanel): TemplateResult {
  const { context, path, item } = panel
  const { session, dialogs, names, note } = context
  const { key, base } = session
  const isOnlyBranch = item === undefined && names.hasBelow(path)
  const isAny = item !== undefined || names.hasBelow(path)
  const body = JSON.stringify({
    ...(isOnlyBranch ? { selector: subtree(path) } : { path }),
    type: 'any',
    with_properties: true,
  })
  const mayReplace = item !== undefined && may(key, 'add', path) && may(key, 'set', path)
  const change = (kind: 'duplicate' | 'rename' | 'properties') => () => {
    if (item !== undefined) dialogs.open((close) => new TopicDialog({ kind, item }, context, close))
  }
  const remove = () =>
    dialogs.open((close) => RemoveDialog.ofPath(path, item !== undefined, names.hasBelow(path), context, close))
  return html`<p class="row actions">
    ${item !== undefined && panel.edit.value === undefined && may(key, 'set', path) ? html`<button class="primary" @click=${() => panel.startEdit()}>${icon('edit')}${item.text === undefined ? 'Set a value' : 'Edit'}</button>` : nothing}
    ${may(key, 'fetch', path) ? html`<a class="quiet-button" href=${addressOfChanges(isOnlyBranch ? subtree(path) : topic(path))}>${icon('changes')}Changes</a>` : nothing}
    ${item?.text === undefined ? nothing : copyButton('Copy value', () => item.text ?? '', note)}
    ${mayReplace ? html`<button class="quiet-button" @click=${change('duplicate')}>${icon('add')}Duplicate…</button>` : nothing}
    ${
      mayReplace && may(key, 'remove', path)
        ? html`<button class="quiet-button" @click=${change('rename')}>${icon('edit')}Rename…</button>
    <button class="quiet-button" @click=${change('properties')}>${icon('edit')}Properties…</button>`
        : nothing
    }
    ${copyButton('Copy as curl', () => curlCommand(base, 'fetch', body), note)}
    ${isAny && may(key, 'remove', path) ? html`<button class="quiet-button danger" @click=${remove}>${icon('remove')}Remove…</button>` : nothing}
  </p>`
}
