/**
 * The panel for a path: the topic's current value, an edit of the value, the properties, the children, and buttons for
 * actions.
 */
import { signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import { type Item, subtree, topic } from '../../../client/index.js'
import { agoText, timeText } from '../../shared/formats.js'
import { addressOfChanges, addressOfPath } from '../address.js'
import type { Context, Panel } from '../context.js'
import { copyButton, curlButton } from '../copy.js'
import { choicesAt, RemoveDialog } from '../dialogs/remove-dialog.js'
import { TopicDialog } from '../dialogs/topic-dialog.js'
import { focusLater, nowMs } from '../drawing.js'
import { alertView } from '../failures.js'
import { icon } from '../icons.js'
import { may, type Operation } from '../session.js'
import { ChildrenPanel } from '../table/children-panel.js'
import { formattedFromMax, formattedOf, shortened, shownMax, sizeText, visible } from '../value-text.js'
import { Edit } from './edit.js'

export class TopicPanel implements Panel {
  readonly #isFormatted = signal(true)
  /** False if only the start of a large value is shown. */
  readonly #isWhole = signal(false)
  /** The result of the last write. */
  readonly #done = signal('')
  readonly #children: ChildrenPanel

  constructor(
    readonly path: string,
    private readonly context: Context,
  ) {
    this.#children = new ChildrenPanel(path, context)
  }

  get title(): string {
    return visible(this.path)
  }

  get #item(): Item | undefined {
    return this.context.items.get(this.path)
  }

  get #edit(): Edit | undefined {
    return this.context.edits.value.get(this.path)
  }

  #setEdit(edit: Edit | undefined): void {
    const others = [...this.context.edits.peek()].filter(([path]) => path !== this.path)
    this.context.edits.value = new Map(edit === undefined ? others : [...others, [this.path, edit]])
  }

  shownPaths(): readonly string[] {
    return [this.path, ...this.#children.shownPaths()]
  }

  leave(): void {
    this.#children.leave()
  }

  view(): TemplateResult {
    const { path, context } = this
    const item = this.#item
    const edit = this.#edit
    return html`
      <section class="panel" aria-labelledby="topic-path">
        <div class="row">${pathView(path)}${copyButton('Copy path', () => path, context.note)}</div>
        <p role="status" class="good">${this.#done.value}</p>
        ${item === undefined ? this.#missingView() : this.#valueView(item)}
        ${edit === undefined ? nothing : this.#editView(edit, item)}
        ${this.#actionsView(item)}
        ${item === undefined ? nothing : propertiesView(item.properties ?? {})}
        ${this.#children.view()}
      </section>
    `
  }

  /** The reason why no topic is shown. */
  #missingView(): TemplateResult {
    const { names, session, items } = this.context
    const { key } = session
    if (!may(key, 'fetch', this.path))
      return html`<p>This API key may not fetch this path; it may fetch below ${key.under.map(visible).join(', ')}.</p>`
    if (!items.isLoaded(this.path))
      return html`<p class="quiet">${names.outage.value === undefined ? 'Fetching…' : ''}</p>`
    return html`<p class="quiet">${names.hasBelow(this.path) ? 'There is no topic at this path, but there are topics below it.' : 'There is no topic at this path.'}</p>`
  }

  #valueView(item: Item): TemplateResult {
    const { text, type, version, updated = '' } = item
    const count = this.context.items.changes(this.path)
    const whole = (this.#isFormatted.value ? formattedOf(item) : undefined) ?? text ?? ''
    const isCut = whole.length > shownMax && !this.#isWhole.value
    return html`
      <p class="row quiet">
        <span>Type ${type}</span>
        <span>${text === undefined ? 'no value' : sizeText(text)}</span>
        <span>Changed <time datetime=${updated}>${agoText(updated, nowMs.value)}, ${timeText(updated)}</time></span>
        <span>Version ${version}</span>
        ${text === undefined ? nothing : this.#formChoice(item)}
      </p>
      ${text === undefined ? nothing : html`<pre class=${`exact value${count === 0 ? '' : ` changed-${count % 2}`}`} tabindex="0" role="group" aria-label="Value">${isCut ? shortened(whole, shownMax) : whole}</pre>`}
      ${
        isCut
          ? html`<p class="row"><span class="quiet">Only the beginning is shown.</span> <button class="quiet-button" @click=${() => (this.#isWhole.value = true)}>Show all ${sizeText(text ?? '')}</button></p>`
          : nothing
      }
    `
  }

  #formChoice(item: Item): TemplateResult {
    if (formattedOf(item) === undefined) return html`<span>too large to format</span>`
    const choice = (name: string, value: boolean) =>
      html`<button class="quiet-button" aria-pressed=${this.#isFormatted.value === value} @click=${() => (this.#isFormatted.value = value)}>${name}</button>`
    return html`<span class="row" role="group" aria-label="Display of the value">${choice('Formatted', true)}${choice('As stored', false)}</span>`
  }

  #editView(edit: Edit, item: Item | undefined): TemplateResult {
    const isSaving = edit.saving.isBusy.value
    // The stream may report this page's own write before the response arrives.
    const isOvertaken = !isSaving && this.context.items.isLoaded(this.path) && item?.version !== edit.seen.version
    const onInput = ({ target }: Event) => (edit.text.value = (target as HTMLTextAreaElement).value)
    const save = (event: Event) => {
      event.preventDefault()
      if (!isOvertaken) void this.#write('save')
    }
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 's') save(event)
    }
    return html`
      <form @submit=${save} @keydown=${onKey}>
        <label for="new-value">${edit.seen.type === 'string' ? 'New value as plain text' : 'New value as JSON'}</label>
        <textarea id="new-value" rows="8" spellcheck="false" ?readonly=${isSaving} .value=${edit.text.value} @input=${onInput}></textarea>
        ${alertView(edit.saving.problem.value)}
        ${isOvertaken ? this.#overtakenView(edit, item) : nothing}
        <p class="row">
          <button class="primary" aria-disabled=${isSaving || isOvertaken}>Save</button>
          <button type="button" @click=${() => this.#cancelEdit()}>Cancel</button>
          <span class="quiet">Ctrl+S saves.</span>
        </p>
      </form>
    `
  }

  /** Keeps the same button element while other clients change the topic, so that no click is lost. */
  #overtakenView(edit: Edit, item: Item | undefined): TemplateResult {
    const refused = edit.isConflict.value ? 'Not saved. ' : ''
    if (item === undefined) {
      return html`<div class="notice" role="alert">
        <p>${refused}The topic was removed while you were editing. Your text is kept.</p>
        ${may(this.context.session.key, 'add', this.path) ? html`<button type="button" @click=${() => this.#write('recreate')}>Recreate it with my text</button>` : nothing}
      </div>`
    }
    return html`<div class="notice" role="alert">
      <p>${refused}The topic was changed while you were editing. Its current value is above.</p>
      <p class="row">
        ${item.type === edit.seen.type ? html`<button type="button" @click=${() => this.#write('overwrite')}>Overwrite with my value</button>` : html`<span>Its type is now ${item.type}.</span>`}
        <button type="button" @click=${() => this.#startEdit(item)}>Edit the current value</button>
      </p>
    </div>`
  }

  /** For a branch without a topic, the Changes link and the curl request cover everything below it. */
  #actionsView(item: Item | undefined): TemplateResult {
    const { context, path } = this
    const { session, dialogs, names, note } = context
    const mayHere = (operation: Operation) => may(session.key, operation, path)
    const hasBelow = names.hasBelow(path)
    const isOnlyBranch = item === undefined && hasBelow
    const request = { ...(isOnlyBranch ? { selector: subtree(path) } : { path }), type: 'any', with_properties: true }
    const mayReplace = item !== undefined && mayHere('add') && mayHere('set')
    const change = (kind: 'duplicate' | 'rename' | 'properties') => () => {
      dialogs.shown.value = new TopicDialog(kind, context, path, item)
    }
    const remove = () => {
      dialogs.shown.value = new RemoveDialog(path, choicesAt(path, item !== undefined, hasBelow), context)
    }
    return html`<p class="row actions">
      ${item !== undefined && this.#edit === undefined && mayHere('set') ? html`<button class="primary" @click=${() => this.#startEdit(item)}>${icon('edit')}${item.text === undefined ? 'Set a value' : 'Edit'}</button>` : nothing}
      ${mayHere('fetch') ? html`<a class="quiet-button" href=${addressOfChanges(isOnlyBranch ? subtree(path) : topic(path))}>${icon('changes')}Changes</a>` : nothing}
      ${item?.text === undefined ? nothing : copyButton('Copy value', () => item.text ?? '', note)}
      ${mayReplace ? html`<button class="quiet-button" @click=${change('duplicate')}>${icon('add')}Duplicate…</button>` : nothing}
      ${
        mayReplace && mayHere('remove')
          ? html`<button class="quiet-button" @click=${change('rename')}>${icon('edit')}Rename…</button>
      <button class="quiet-button" @click=${change('properties')}>${icon('edit')}Properties…</button>`
          : nothing
      }
      ${curlButton('Copy as curl', context, 'fetch', request)}
      ${(item !== undefined || hasBelow) && mayHere('remove') ? html`<button class="quiet-button danger" @click=${remove}>${icon('remove')}Remove…</button>` : nothing}
    </p>`
  }

  #startEdit(item: Item): void {
    const { text = '' } = item
    if (!this.#mayDiscard()) return
    const question = `This value is ${sizeText(text)} long, so each keystroke may take seconds. Edit it here?`
    if (text.length > formattedFromMax && !confirm(question)) return
    this.#setEdit(new Edit(item))
    this.#done.value = ''
    focusLater()('#new-value')
  }

  /** Ends the edit at the user's request. */
  #cancelEdit(): void {
    if (this.#mayDiscard()) this.#endEdit('')
  }

  #mayDiscard(): boolean {
    return this.#edit?.isWritten !== true || confirm('Discard your changes?')
  }

  #endEdit(done: string): void {
    this.#setEdit(undefined)
    this.#done.value = done
    focusLater()('#topic-path')
  }

  async #write(how: Parameters<Edit['write']>[0]): Promise<void> {
    const edit = this.#edit
    if (edit === undefined) return
    const focus = focusLater()
    // In the meantime, the user may have started another edit.
    if ((await edit.write(how, this.context.session.client, this.context)) && this.#edit === edit)
      this.#endEdit('Saved.')
    focus(this.#edit === undefined ? '#topic-path' : '#new-value')
  }
}

/** The path as a heading in which each segment except the last links to its branch. */
function pathView(path: string): TemplateResult {
  const segments = path.split('/')
  const parts = segments.map((segment, index) =>
    index === segments.length - 1
      ? visible(segment)
      : html`<a href=${addressOfPath(segments.slice(0, index + 1).join('/'))}>${visible(segment)}</a>/`,
  )
  return html`<h2 id="topic-path" class="exact" tabindex="-1">${parts}</h2>`
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
