/** The panel of a path: its topic, as the service has it now, an edit of it, and its children. What it looks like is topic-view.ts's. */
import { signal } from '@preact/signals-core'
import type { Item } from '../../../client/index.js'
import type { Context, Panel } from '../context.js'
import { focusLater } from '../drawing.js'
import { ChildrenPanel } from '../table/children-panel.js'
import { visible } from '../value-text.js'
import { Edit } from './edit.js'

export class TopicPanel implements Panel {
  readonly edit = signal<Edit | undefined>(undefined)
  readonly isFormatted = signal(true)
  /** False for only the beginning of a large value. */
  readonly isWhole = signal(false)
  /** The result of the last write. */
  readonly done = signal('')
  readonly children: ChildrenPanel

  constructor(
    readonly path: string,
    readonly context: Context,
    edit: Edit | undefined,
  ) {
    this.edit.value = edit
    this.children = new ChildrenPanel(path, context)
  }

  get title(): string {
    return visible(this.path)
  }

  get item(): Item | undefined {
    return this.context.items.get(this.path)
  }

  get isLoaded(): boolean {
    return this.context.items.isLoaded(this.path)
  }

  shownPaths(): readonly string[] {
    return [this.path, ...this.children.shownPaths()]
  }

  leave(): void {
    this.children.leave()
  }

  startEdit(): void {
    const { item } = this
    if (item === undefined) return
    this.edit.value = new Edit(item)
    this.done.value = ''
    focusLater()('#new-value')
  }

  /** The user wants to end it. */
  cancelEdit(): void {
    if (this.edit.value?.isWritten !== true || confirm('Lose what you have written?')) this.endEdit()
  }

  endEdit(done = ''): void {
    this.edit.value = undefined
    this.done.value = done
    focusLater()('#topic-path')
  }

  /** @param how the method of the edit */
  async write(how: 'save' | 'overwrite' | 'recreate'): Promise<void> {
    const edit = this.edit.value
    if (edit === undefined) return
    const focus = focusLater()
    if (await edit.write(how, this.context)) this.endEdit('Saved.')
    focus(this.edit.value === undefined ? '#topic-path' : '#new-value')
  }
}
