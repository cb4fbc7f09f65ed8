/** The open dialogs, one above the other. Each has its own subject. */
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
  /** The last one is on top. */
  readonly #open = signal<readonly Dialog[]>([])

  /** The dialog on top; undefined if there is none. */
  get view(): TemplateResult | undefined {
    return this.#open.value.at(-1)?.view()
  }

  get isAnyOpen(): boolean {
    return this.#open.value.length > 0
  }

  get isAnyWritten(): boolean {
    return this.#open.peek().some(({ isWritten }) => isWritten === true)
  }

  /** @param make gets the function that closes the dialog, which returns whether it was still open */
  open(make: (close: () => boolean) => Dialog): void {
    const dialog = make(() => {
      const wasOpen = this.#open.peek().includes(dialog)
      this.#open.value = this.#open.peek().filter((other) => other !== dialog)
      return wasOpen
    })
    this.#open.value = [...this.#open.peek(), dialog]
  }

  /** Closes the dialog on top, as the Escape key does. */
  closeTop(): void {
    const top = this.#open.peek().at(-1)
    if (
      top === undefined ||
      (top.isWritten === true && !confirm(top.closeQuestion ?? 'Close and lose what you have written?'))
    )
      return
    top.abandon?.()
    this.#open.value = this.#open.peek().slice(0, -1)
  }

  /** Closes the dialogs about the topic or matches that were shown until now. */
  leave(): void {
    for (const dialog of this.#open.peek()) if (!dialog.staysOpen) dialog.abandon?.()
    this.#open.value = this.#open.peek().filter(({ staysOpen }) => staysOpen)
  }

  /** No dialog continues its work unseen. */
  end(): void {
    for (const dialog of this.#open.peek()) dialog.abandon?.()
    this.#open.value = []
  }
}
