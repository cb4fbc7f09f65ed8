/** The open dialog, if any. There is at most one. */
import { signal } from '@preact/signals-core'
import type { TemplateResult } from 'lit-html'

export interface Dialog {
  view(): TemplateResult
  /** Called when the dialog closes: it stops its work unless it has told the user that the work continues. */
  leave?(): void
  /** True if closing requires confirmation, for example because the user has entered something. */
  readonly isWritten?: boolean
  /** The question for that confirmation. */
  readonly closeQuestion?: string | undefined
  /** True if the dialog is not about the shown topic or matches, so it stays open when the view changes. */
  readonly staysOpen?: boolean
}

export class Dialogs {
  /** Set it to open a dialog. */
  readonly shown = signal<Dialog | undefined>(undefined)

  get isWritten(): boolean {
    return this.shown.peek()?.isWritten === true
  }

  /** Closes the dialog as the Escape key does, with a question if necessary. */
  close(): void {
    const question = this.shown.peek()?.closeQuestion ?? 'Close and discard your input?'
    if (!this.isWritten || confirm(question)) this.end()
  }

  /** Closes a dialog about the topic or matches that are no longer shown. */
  leave(): void {
    if (this.shown.peek()?.staysOpen !== true) this.end()
  }

  /** Closes a dialog without a question. @returns whether it was still open */
  end(dialog = this.shown.peek()): boolean {
    if (dialog === undefined || dialog !== this.shown.peek()) return false
    dialog.leave?.()
    this.shown.value = undefined
    return true
  }
}
