/**
 * An edit of a topic's value: the text that is written, and the topic as its writer has seen it. It is saved only if the topic
 * still has that version. Nothing is drawn here.
 */
import { type Signal, signal } from '@preact/signals-core'
import { type Client, type Item, TopicdError } from '../../../client/index.js'
import { type Ending, isConflict } from '../failures.js'
import { Task } from '../task.js'
import { editableOf, valueIn, withLineEnds } from '../value-text.js'

export class Edit {
  readonly text: Signal<string>
  readonly saving = new Task()
  /** True if a write was refused because of another's. */
  readonly isConflict = signal(false)

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
  async write(how: 'save' | 'overwrite' | 'recreate', client: Client, session: Ending): Promise<boolean> {
    const { path, type, properties, version = 0 } = this.seen
    const constraint = how === 'save' ? { version } : undefined
    let isWritten = false
    await this.saving.run(session, async () => {
      const value = valueIn(type, withLineEnds(this.text.value, editableOf(this.seen)))
      try {
        if (how !== 'recreate') await client.set(path, value, { type, constraint })
        else await client.addAndSet(path, value, { type, properties, constraint: { no_topic: true } })
        isWritten = true
      } catch (error) {
        const isGone = error instanceof TopicdError && error.code === 'no_such_topic'
        if (!isConflict(error) && !isGone) throw error
        this.isConflict.value = true
      }
    })
    return isWritten
  }
}
