/**
 * An edit of a topic's value: the user's text, and the topic as it was when the edit started. Saving fails if the topic
 * has changed since then. Nothing is drawn here.
 */
import { type Signal, signal } from '@preact/signals-core'
import { type Client, type Item, TopicdError } from '../../../client/index.js'
import { type Ending, isConflict } from '../failures.js'
import { Task } from '../task.js'
import { editableOf, valueIn, withLineEnds } from '../value-text.js'

export class Edit {
  readonly text: Signal<string>
  readonly saving = new Task()
  /** True if a write was rejected because another client changed the topic. */
  readonly isConflict = signal(false)

  constructor(readonly seen: Item) {
    this.text = signal(editableOf(seen))
  }

  get isWritten(): boolean {
    return this.text.value !== editableOf(this.seen)
  }

  /**
   * `save` writes only if the topic's version is unchanged, `overwrite` replaces any current value, and `recreate` creates the
   * topic again with its former type and properties.
   *
   * @returns whether the value was written
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
