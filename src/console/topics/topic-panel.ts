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
  /** What is written, as it is in the text field. */
  text: string
  /** The topic as its writer has seen it. */
  readonly seen: Item
  /** Whether a write was refused because of another's. */
  isConflict: boolean
  /** Why the last write failed otherwise; empty if it did not. */
  problem: string
}

/** The members of a request that fetches a topic with all that it has. */
export const fetchedMembers = { type: 'any', with_properties: true } as const

export class TopicPanel {
  /** What is shown: undefined while it is being fetched, null when there is no topic. */
  item: Item | null | undefined
  /** What the service has beyond that, once an edit was overtaken; undefined if it has the same. */
  newer: Item | null | undefined
  /** Why the last fetch failed; empty if it did not. */
  problem = ''
  /** What the last write has done; empty before, and once the topic has changed again. */
  done = ''
  isFormatted = true
  /** Whether the value that is shown has changed a moment ago, by another hand. */
  isMarked = false
  edit: Edit | undefined
  isSaving = false

  constructor(
    readonly path: string,
    private readonly context: Context,
  ) {}

  /**
   * Fetches the topic again. An edit is left as it is; one that another has overtaken says so.
   *
   * @param isLive whether nobody asked for it
   * @throws for a live refresh, what the client throws
   */
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
    // Nothing is left to be written: it was created anew, or an answer was lost.
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

  /** Whether the topic is another one than its writer has seen, or was written by another. */
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

  /** Shows what the service has now. */
  showNewer(): void {
    if (this.newer !== undefined) this.item = this.newer
    this.newer = undefined
    this.context.changed()
  }

  /** Writes the edit, if the topic is still as its writer has seen it. */
  async save(): Promise<void> {
    const version = this.edit?.seen.version
    if (version !== undefined && !this.isOvertaken) await this.#write({ version })
  }

  /** Writes the edit, whatever value the topic has by then. */
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
