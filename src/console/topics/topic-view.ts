/** The view of the topic that is shown. */

import { html, nothing, type TemplateResult } from 'lit-html'
import { subtree, topic } from '../../client/index.js'
import { addressOfChanges } from './address.js'
import type { Context } from './context.js'
import { may } from './session.js'
import { type Edit, fetchedMembers, type TopicPanel } from './topic-panel.js'
import { formattedOf, sizeText, visible } from './value-text.js'

/** @param children undefined for none @param remove asks whether to remove the topic, or everything below it */
export function topicView(
  panel: TopicPanel,
  context: Context,
  children: TemplateResult | undefined,
  remove: () => void,
): TemplateResult {
  const { item, path, problem, done } = panel
  return html`
    <section class="panel" aria-labelledby="topic-path">
      <h2 id="topic-path" class="exact" tabindex="-1">${visible(path)}</h2>
      ${problem === '' ? nothing : html`<p class="bad" role="alert">${problem}</p>`}
      <p role="status" class="good">${done}</p>
      ${item === undefined && problem === '' ? html`<p class="quiet">Fetching…</p>` : nothing}
      ${item === null ? html`<p>${absentText(path, context, children !== undefined)}</p>` : nothing}
      ${item ? valueView(panel, context) : nothing}
      ${panel.edit === undefined ? nothing : editView(panel, context)}
      ${item ? propertiesView(item.properties ?? {}) : nothing}
      ${actionsView(panel, context, children !== undefined, remove)}
      ${children ?? nothing}
    </section>
  `
}

/** The service shows nothing to a key that may not fetch there. */
function absentText(path: string, { session: { key } }: Context, hasBelow: boolean): string {
  if (!may(key, 'fetch', path))
    return `This API key may not fetch this path; it may fetch below ${key.under.map(visible).join(', ')}.`
  return hasBelow ? 'There is no topic at this path, but there are topics below it.' : 'There is no topic at this path.'
}

function valueView(panel: TopicPanel, context: Context): TemplateResult {
  const { item } = panel
  if (!item) return html``
  const { text, type } = item
  if (text === undefined) return html`<p class="quiet">Type ${type}, no value</p>`
  const formatted = formattedOf(item)
  const isFormatted = panel.isFormatted && formatted !== undefined
  const choice = (name: string, value: boolean) => {
    const choose = () => {
      panel.isFormatted = value
      context.changed()
    }
    return html`<button aria-pressed=${isFormatted === value} ?disabled=${value && formatted === undefined} @click=${choose}>${name}</button>`
  }
  return html`
    <p class="row quiet">
      <span>Type ${type}</span>
      <span>${sizeText(text)}</span>
      <span class="row" role="group" aria-label="How the value is shown">
        ${choice('Formatted', true)}${choice('As stored', false)}
      </span>
      ${formatted === undefined ? html`<span>too large to format</span>` : nothing}
    </p>
    <pre class=${panel.isMarked ? 'exact value changed' : 'exact value'} tabindex="0" role="group" aria-label="Value">${isFormatted ? formatted : text}</pre>
  `
}

function editView(panel: TopicPanel, context: Context): TemplateResult {
  const { edit, isSaving, isOvertaken } = panel
  if (edit === undefined) return html``
  const onInput = (event: Event) => {
    edit.text = (event.target as HTMLTextAreaElement).value
  }
  const onSubmit = (event: Event) => {
    event.preventDefault()
    void panel.save()
  }
  return html`
    <form @submit=${onSubmit}>
      <label for="new-value">New value, as JSON</label>
      <textarea id="new-value" rows="8" spellcheck="false" ?readonly=${isSaving} .value=${edit.text} @input=${onInput}></textarea>
      ${edit.problem === '' ? nothing : html`<p class="bad" role="alert">${edit.problem}</p>`}
      ${isOvertaken ? overtakenView(panel, context, edit) : nothing}
      <p class="row">
        <button class="primary" aria-disabled=${isSaving || isOvertaken}>Save</button>
        <button type="button" @click=${() => panel.cancelEdit()}>Cancel</button>
      </p>
    </form>
  `
}

/** The button that overwrites stays the same element while others change the topic: a click on it is not lost. */
function overtakenView(panel: TopicPanel, context: Context, { isConflict, text, seen }: Edit): TemplateResult {
  const refused = isConflict ? 'Not saved. ' : ''
  if (panel.item === null && panel.newer === undefined) {
    const recreate = () => context.create(panel.path, { ...seen, text })
    return html`<div class="notice" role="alert">
      <p>${refused}The topic was removed while you were editing. Your text is kept.</p>
      ${may(context.session.key, 'add', panel.path) ? html`<button type="button" @click=${recreate}>Recreate it with my text</button>` : nothing}
    </div>`
  }
  const isNewer = panel.newer !== undefined
  const changed = isNewer
    ? 'The topic has changed since the value above.'
    : 'The topic was changed while you were editing. Its current value is above.'
  return html`<div class="notice" role="alert">
    <p>${refused}${changed}</p>
    <p class="row">
      ${panel.item === null ? nothing : html`<button type="button" @click=${() => panel.overwrite()}>Overwrite with my value</button>`}
      ${isNewer ? html`<button type="button" @click=${() => panel.showNewer()}>Show the current value</button>` : nothing}
    </p>
  </div>`
}

function propertiesView(properties: Readonly<Record<string, string>>): TemplateResult {
  const entries = Object.entries(properties)
  if (entries.length === 0) return html`<p class="quiet">No properties.</p>`
  return html`
    <h3>Properties</h3>
    <dl class="properties">
      ${entries.map(([name, value]) => html`<dt class="exact">${visible(name)}</dt><dd class="exact">${visible(value)}</dd>`)}
    </dl>
  `
}

/** If a branch has no topic, its changes and its request are of everything below it. */
function actionsView(panel: TopicPanel, context: Context, isParent: boolean, remove: () => void): TemplateResult {
  const { key } = context.session
  const { item, path } = panel
  const mayEdit = item && panel.edit === undefined && may(key, 'set', path)
  const isBranch = item === null && isParent
  const body = JSON.stringify({ ...(isBranch ? { selector: subtree(path) } : { path }), ...fetchedMembers })
  return html`<p class="row">
    ${mayEdit ? html`<button @click=${() => panel.startEdit()}>${item.text === undefined ? 'Set a value' : 'Edit'}</button>` : nothing}
    ${may(key, 'remove', path) ? html`<button class="danger" @click=${remove}>Remove…</button>` : nothing}
    ${may(key, 'fetch', path) ? html`<a href=${addressOfChanges(isBranch ? subtree(path) : topic(path))}>Changes</a>` : nothing}
    <button @click=${() => context.showCommand('fetch', body)}>Copy as curl</button>
  </p>`
}
