/** The dialog that is open, if one is: there is never another above it. */
import { signal } from '@preact/signals-core'
import type { TemplateResult } from 'lit-html'

export interface Dialog {
  view(): TemplateResult
  /** Called if it is closed before it has ended. */
  abandon?(): void
  /** True once the user has written in it: it asks before it closes. */
  readonly isWritten?: boolean
  /** What it asks then. */
  readonly closeQuestion?: string
  /** True if its subject is not the topic or matches next to it, so that it stays when those change. */
  readonly staysOpen?: boolean
}

export class Dialogs {
  readonly #open = signal<Dialog | undefined>(undefined)

  get view(): TemplateResult | undefined {
    return this.#open.value?.view()
  }

  get isOpen(): boolean {
    return this.#open.value !== undefined
  }

  get isWritten(): boolean {
    return this.#open.peek()?.isWritten === true
  }

  /** @param make gets the function that closes the dialog, which returns whether it was still open */
  open(make: (close: () => boolean) => Dialog): void {
    const dialog = make(() => {
      const wasOpen = this.#open.peek() === dialog
      if (wasOpen) this.#open.value = undefined
      return wasOpen
    })
    this.#open.value = dialog
  }

  /** As the Escape key does. */
  close(): void {
    const question = this.#open.peek()?.closeQuestion ?? 'Close and lose what you have written?'
    if (!this.isWritten || confirm(question)) this.end()
  }

  /** Closes a dialog about the topic or matches that were shown until now. */
  leave(): void {
    if (this.#open.peek()?.staysOpen !== true) this.end()
  }

  /** No dialog continues its work unseen. */
  end(): void {
    this.#open.peek()?.abandon?.()
    this.#open.value = undefined
  }
}
