/**
 * The topic that is shown: its value as the service has it, and, while someone edits it, the text that they write. The
 * edit is based on the version that was last shown to them, and is saved only if the topic still has that version.
 *
 * Once another has overtaken an edit, the value that is shown stays until its reader asks for a newer one, or has their
 * text replace whatever is there.
 */
import { type Constraint, type Item, jsonText, TopicdError, topic } from '../../client/index.js'
import { type Context, describeFailure, isBeyondRate, markedMs } from './context.js'
import { freshPage } from './fresh-page.js'

export interface Edit {
  text: string
  /** The topic as its writer has seen it. */
  readonly seen: Item
  /** True if a write was refused because of another's. */
  isConflict: boolean
  /** The failure of the last write, other than a conflict; empty if it has succeeded. */
  problem: string
}

export const fetchedMembers = { type: 'any', with_properties: true } as const

export class TopicPanel {
  /** Undefined while it is being fetched; null if there is no topic. */
  item: Item | null | undefined
  /** The service's state, once an edit was overtaken; undefined if it is that of `item`. */
  newer: Item | null | undefined
  /** The failure of the last fetch; empty if it has succeeded. */
  problem = ''
  /** The result of the last write; empty once the topic has changed again. */
  done = ''
  isFormatted = true
  /** True for a moment after a change by another client. */
  isMarked = false
  edit: Edit | undefined
  isSaving = false

  constructor(
    readonly path: string,
    private readonly context: Context,
  ) {}

  /** Leaves an edit as it is. @param isLive true for a background refresh, which throws what the client throws */
  async refresh(isLive = false): Promise<void> {
    try {
      // By a selector: a fetch by path is refused where there is no topic, which browsers log as an error.
      const item = this.newer ?? this.item
      const known = isLive && item ? { has_more: false, results: [item] } : undefined
      const { results } = await freshPage(this.context.session.client, topic(this.path), fetchedMembers, known)
      this.problem = ''
      this.#take(results[0] ?? null, isLive)
    } catch (error) {
      if (!isLive || !isBeyondRate(error)) this.problem = describeFailure(error, this.context)
      if (isLive) throw error
    } finally {
      this.context.changed()
    }
  }

  #take(item: Item | null, isLive: boolean): void {
    // The stored value already equals the edit.
    if (item !== null && item.text === this.edit?.text.trim() && this.isOvertaken) this.edit = undefined
    if (item?.version === this.item?.version && this.item !== undefined) this.newer = undefined
    else if (this.isOvertaken) this.newer = item
    else {
      if (isLive && this.item !== undefined && item?.text !== this.item?.text) this.#mark()
      this.item = item
      this.done = ''
    }
  }

  #mark(): void {
    this.isMarked = true
    setTimeout(() => {
      this.isMarked = false
      this.context.changed()
    }, markedMs)
  }

  /** True if the topic was recreated or written by another client after its writer had seen it. */
  get isOvertaken(): boolean {
    const { edit, item } = this
    return edit !== undefined && item !== undefined && item?.version !== edit.seen.version
  }

  startEdit(): void {
    if (!this.item) return
    this.edit = { text: this.item.text ?? '', seen: this.item, isConflict: false, problem: '' }
    this.done = ''
    this.context.focusLater()('#new-value')
  }

  cancelEdit(): void {
    const focus = this.context.focusLater()
    this.edit = undefined
    this.showNewer()
    focus('#topic-path')
  }

  showNewer(): void {
    if (this.newer !== undefined) this.item = this.newer
    this.newer = undefined
    this.context.changed()
  }

  /** Writes only if the topic is still as its writer has seen it. */
  async save(): Promise<void> {
    const version = this.edit?.seen.version
    if (version !== undefined && !this.isOvertaken) await this.#write({ version })
  }

  /** Replaces any value that the topic has by then. */
  async overwrite(): Promise<void> {
    await this.#write(undefined)
  }

  async #write(constraint: Constraint | undefined): Promise<void> {
    const { edit, item } = this
    if (edit === undefined || !item || this.isSaving) return
    this.isSaving = true
    edit.problem = ''
    const focus = this.context.focusLater()
    this.context.changed()
    try {
      const { type } = this.newer ?? item
      await this.context.session.client.set(this.path, jsonText(edit.text), { type, constraint })
      this.edit = undefined
    } catch (error) {
      if (error instanceof SyntaxError) edit.problem = `The value is not JSON: ${error.message}.`
      else if (error instanceof TopicdError && error.code === 'unsatisfied_constraint') edit.isConflict = true
      else edit.problem = describeFailure(error, this.context)
    }
    this.isSaving = false
    await this.refresh()
    this.done = this.edit === undefined ? 'Saved.' : ''
    this.context.changed()
    focus(this.edit === undefined ? '#topic-path' : '#new-value')
  }
}
