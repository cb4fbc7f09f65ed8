/**
 * An edit of a topic's value: the text that is written, and the topic as its writer has seen it. It is saved only if the topic
 * still has that version. Nothing is drawn here.
 */
import { type Signal, signal } from '@preact/signals-core'
import { type Item, TopicdError } from '../../../client/index.js'
import type { Context } from '../context.js'
import { describeFailure, isConflict } from '../failures.js'
import { editableOf, valueIn, withLineEnds } from '../value-text.js'

export class Edit {
  readonly text: Signal<string>
  readonly isSaving = signal(false)
  /** True if a write was refused because of another's. */
  readonly isConflict = signal(false)
  /** The failure of the last write, other than a conflict; empty if there is none. */
  readonly problem = signal('')

  constructor(readonly seen: Item) {
    this.text = signal(editableOf(seen))
  }

  get isWritten(): boolean {
    return this.text.value !== editableOf(this.seen)
  }

  /**
   * `save` writes only if the topic is still as its writer has seen it, `overwrite` replaces any value that it has by then, and
   * `recreate` creates it again with the type and the properties that it had.
   *
   * @returns whether it has been written
   */
  async write(how: 'save' | 'overwrite' | 'recreate', context: Context): Promise<boolean> {
    const { path, type, properties, version = 0 } = this.seen
    const { client } = context.session
    const constraint = how === 'save' ? { version } : undefined
    if (this.isSaving.value) return false
    this.isSaving.value = true
    this.problem.value = ''
    try {
      const value = valueIn(type, withLineEnds(this.text.value, editableOf(this.seen)))
      if (how !== 'recreate') await client.set(path, value, { type, constraint })
      else await client.addAndSet(path, value, { type, properties, constraint: { no_topic: true } })
      return true
    } catch (error) {
      const isGone = error instanceof TopicdError && error.code === 'no_such_topic'
      if (isConflict(error) || isGone) this.isConflict.value = true
      else this.problem.value = describeFailure(error, context)
      return false
    } finally {
      this.isSaving.value = false
    }
  }
}
