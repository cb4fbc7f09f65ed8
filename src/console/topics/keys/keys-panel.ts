/** The API keys, read again after each change and now and then. keys-view.ts shows them; each change has its dialog. */
import { signal } from '@preact/signals-core'
import type { Context, Panel } from '../context.js'
import { focusLater } from '../drawing.js'
import { describeFailure } from '../failures.js'
import { IssueDialog } from './issue-dialog.js'
import { keysView } from './keys-view.js'
import { RevokeDialog } from './revoke-dialog.js'
import { type Key, listKeys } from './wire.js'

/** Last uses are to the minute, and others may change keys, too. */
const readMs = 30_000

export class KeysPanel implements Panel {
  readonly title = 'API keys'
  /** Undefined until they have been read. */
  readonly keys = signal<readonly Key[] | undefined>(undefined)
  readonly problem = signal('')
  readonly #reading: ReturnType<typeof setInterval>

  constructor(readonly context: Context) {
    this.#reading = setInterval(() => document.hidden || void this.#read(), readMs)
    const focus = focusLater()
    void this.#read().then(() => focus('#keys-title'))
  }

  leave(): void {
    clearInterval(this.#reading)
  }

  shownPaths(): readonly string[] {
    return []
  }

  view() {
    return keysView(this)
  }

  /** The key of this session, with its limits. */
  get own(): Key | undefined {
    const { name } = this.context.session.key
    return this.keys.value?.find((key) => key.name === name)
  }

  create(): void {
    const { context } = this
    context.dialogs.open((close) => IssueDialog.create(this.own, context, close, this.#onChanged))
  }

  rotate(key: Key): void {
    const { context } = this
    context.dialogs.open((close) => IssueDialog.rotate(key, context, close, this.#onChanged))
  }

  revoke(key: Key): void {
    const { context } = this
    context.dialogs.open((close) => new RevokeDialog(key, context, close, this.#onChanged))
  }

  readonly #onChanged = (): void => void this.#read()

  async #read(): Promise<void> {
    try {
      this.keys.value = await listKeys(this.context.session)
      this.problem.value = ''
    } catch (error) {
      this.problem.value = describeFailure(error, this.context)
    }
  }
}
