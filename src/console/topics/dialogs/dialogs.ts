/** The open dialogs, one above the other. Each has its own subject. */
import type { TemplateResult } from 'lit-html'

export interface Dialog {
  view(): TemplateResult
  /** Called if it is closed before it has ended. */
  abandon?(): void
  /** Asks the user if something is written in it. */
  mayClose?(): boolean
  /** True once the user has written in it. */
  readonly isWritten?: boolean
  /** True if its subject is not the topic or matches next to it, so that it stays when those change. */
  readonly staysOpen?: boolean
}

export class Dialogs {
  /** The last one is on top. */
  #open: readonly Dialog[] = []

  constructor(private readonly changed: () => void) {}

  /** The dialog on top; undefined if there is none. */
  get view(): TemplateResult | undefined {
    return this.#open.at(-1)?.view()
  }

  get isAnyOpen(): boolean {
    return this.#open.length > 0
  }

  get isAnyWritten(): boolean {
    return this.#open.some(({ isWritten }) => isWritten === true)
  }

  /** @param make gets the function that closes the dialog, which returns whether it was still open */
  open(make: (close: () => boolean) => Dialog): void {
    const dialog = make(() => {
      const wasOpen = this.#open.includes(dialog)
      this.#open = this.#open.filter((other) => other !== dialog)
      this.changed()
      return wasOpen
    })
    this.#open = [...this.#open, dialog]
    this.changed()
  }

  /** Closes the dialog on top, as the Escape key does. */
  closeTop(): void {
    const top = this.#open.at(-1)
    if (top === undefined || top.mayClose?.() === false) return
    top.abandon?.()
    this.#open = this.#open.slice(0, -1)
    this.changed()
  }

  /** Closes the dialogs about the topic or matches that were shown until now. */
  leave(): void {
    for (const dialog of this.#open) if (!dialog.staysOpen) dialog.abandon?.()
    this.#open = this.#open.filter(({ staysOpen }) => staysOpen)
  }

  /** No dialog continues its work unseen. */
  end(): void {
    for (const dialog of this.#open) dialog.abandon?.()
  }
}
