/** The view of an edit: its text, and what to do if others have changed the topic in the meantime. */
import { html, nothing, type TemplateResult } from 'lit-html'
import { may } from '../session.js'
import type { Edit } from './edit.js'
import type { TopicPanel } from './topic-panel.js'

export function editView(panel: TopicPanel, edit: Edit): TemplateResult {
  const { item } = panel
  const isSaving = edit.isSaving.value
  // The stream may tell of one's own write before its answer comes.
  const isOvertaken = !isSaving && panel.isLoaded && edit.isOvertaken(item)
  const onInput = ({ target }: Event) => (edit.text.value = (target as HTMLTextAreaElement).value)
  const save = (event: Event) => {
    event.preventDefault()
    if (!isOvertaken) void panel.write('save')
  }
  const onKey = (event: KeyboardEvent) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 's') save(event)
  }
  return html`
    <form @submit=${save} @keydown=${onKey}>
      <label for="new-value">${edit.seen.type === 'string' ? 'New value, as plain text' : 'New value, as JSON'}</label>
      <textarea id="new-value" rows="8" spellcheck="false" ?readonly=${isSaving} .value=${edit.text.value} @input=${onInput}></textarea>
      ${edit.problem.value === '' ? nothing : html`<p class="bad" role="alert">${edit.problem.value}</p>`}
      ${isOvertaken ? overtakenView(panel, edit) : nothing}
      <p class="row">
        <button class="primary" aria-disabled=${isSaving || isOvertaken}>Save</button>
        <button type="button" @click=${() => panel.cancelEdit()}>Cancel</button>
        <span class="quiet">Ctrl+S saves.</span>
      </p>
    </form>
  `
}

/** The button that overwrites stays the same element while others change the topic: a click on it is not lost. */
function overtakenView(panel: TopicPanel, edit: Edit): TemplateResult {
  const { item, context, path } = panel
  const refused = edit.isConflict.value ? 'Not saved. ' : ''
  if (item === undefined) {
    return html`<div class="notice" role="alert">
      <p>${refused}The topic was removed while you were editing. Your text is kept.</p>
      ${may(context.session.key, 'add', path) ? html`<button type="button" @click=${() => panel.write('recreate')}>Recreate it with my text</button>` : nothing}
    </div>`
  }
  return html`<div class="notice" role="alert">
    <p>${refused}The topic was changed while you were editing. Its current value is above.</p>
    <p class="row">
      ${item.type === edit.seen.type ? html`<button type="button" @click=${() => panel.write('overwrite')}>Overwrite with my value</button>` : html`<span>It is of type ${item.type} now.</span>`}
      <button type="button" @click=${() => panel.startEdit()}>Edit the current value</button>
    </p>
  </div>`
}
