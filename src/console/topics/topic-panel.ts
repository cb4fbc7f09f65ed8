/**
 * The topic that is shown: its value as the service has it, and, while someone edits it, the text that they write. The
 * edit is based on the value that was last shown to them, and is written only if the topic still has that value.
 *
 * Once another has overtaken an edit, the value that is shown stays until its reader asks for a newer one: so what they
 * let their text replace is what they have read.
 */
import { type Item, jsonText, TopicdError, topic } from '../../client/index.js'
import { type Context, describeFailure, isBeyondRate, markedMs } from './context.js'

export interface Edit {
  /** What is written, as it is in the text field. */
  text: string
  /** The value that the writer has seen; undefined for a topic without one. */
  seen: string | undefined
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
   * @throws TopicdError for a live refresh beyond the key's rate
   */
  async refresh(isLive = false): Promise<void> {
    try {
      // By a selector: a fetch by path is refused where there is no topic, which browsers log as an error.
      const { results } = await this.context.session.client.page(topic(this.path), fetchedMembers)
      this.problem = ''
      this.#take(results[0] ?? null, isLive)
    } catch (error) {
      if (isLive && isBeyondRate(error)) throw error
      this.problem = describeFailure(error, this.context)
    }
    this.context.changed()
  }

  #take(item: Item | null, isLive: boolean): void {
    // Nothing is left to be written: it was created anew, or an answer was lost.
    if (item !== null && item.text === this.edit?.text.trim() && this.isOvertaken) this.edit = undefined
    if (isSame(item, this.item)) this.newer = undefined
    else if (this.isOvertaken) this.newer = item
    else {
      if (isLive && this.item !== undefined) this.#mark()
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

  /** Whether the topic has another value than its writer has seen. */
  get isOvertaken(): boolean {
    const { edit, item } = this
    return edit !== undefined && item !== undefined && (item === null || item.text !== edit.seen)
  }

  startEdit(): void {
    if (!this.item) return
    this.edit = { text: this.item.text ?? '', seen: this.item.text, isConflict: false, problem: '' }
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

  /** From now on the value that is shown is the one that may be overwritten. */
  acceptShown(): void {
    if (this.edit === undefined || !this.item) return
    this.edit.seen = this.item.text
    this.edit.isConflict = false
    this.context.focusLater()('#new-value')
  }

  /** Writes the edit, if the topic still has the value that its writer has seen. */
  async save(): Promise<void> {
    const { edit, item } = this
    if (edit === undefined || !item || this.isSaving || this.isOvertaken) return
    this.isSaving = true
    edit.problem = ''
    const focus = this.context.focusLater()
    this.context.changed()
    try {
      const value = jsonText(edit.text)
      const constraint = edit.seen === undefined ? ({ no_value: true } as const) : { value: jsonText(edit.seen) }
      await this.context.session.client.set(this.path, value, { type: item.type, constraint })
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

function isSame(a: Item | null, b: Item | null | undefined): boolean {
  if (!a || !b) return a === b
  return a.text === b.text && a.type === b.type && JSON.stringify(a.properties) === JSON.stringify(b.properties)
}
