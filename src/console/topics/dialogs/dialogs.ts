/** The dialog that is open, if one is: there is never another above it. */
import { signal } from '@preact/signals-core'
import type { TemplateResult } from 'lit-html'

export interface Dialog {
  view(): TemplateResult
  /** Called as it closes: no dialog continues its work unseen, unless it says so. */
  leave?(): void
  /** True once the user has written in it: it asks before it closes. */
  readonly isWritten?: boolean
  /** What it asks then. */
  readonly closeQuestion?: string | undefined
  /** True if its subject is not the topic or matches next to it, so that it stays when those change. */
  readonly staysOpen?: boolean
}

export class Dialogs {
  /** Set it to open a dialog. */
  readonly shown = signal<Dialog | undefined>(undefined)

  get isWritten(): boolean {
    return this.shown.peek()?.isWritten === true
  }

  /** As the Escape key does. */
  close(): void {
    const question = this.shown.peek()?.closeQuestion ?? 'Close and lose what you have written?'
    if (!this.isWritten || confirm(question)) this.end()
  }

  /** Closes a dialog about the topic or matches that were shown until now. */
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
