/** The dialogs that are open, one above the other. What each of them is about is its own. */
import type { TemplateResult } from 'lit-html'

export interface Dialog {
  view(): TemplateResult
  /** Called when it is closed before it has ended, if that matters to it. */
  abandon?(): void
  /** Whether it may be closed now; asks someone who has written in it. */
  mayClose?(): boolean
  /** Whether someone has written in it. */
  readonly isWritten?: boolean
  /** Whether it is about something else than what is shown beside it, and so stays when that changes. */
  readonly staysOpen?: boolean
}

export class Dialogs {
  /** The last one is on top. */
  #open: readonly Dialog[] = []

  /** @param changed called when another one is on top */
  constructor(private readonly changed: () => void) {}

  /** The one on top; undefined when there is none. */
  get view(): TemplateResult | undefined {
    return this.#open.at(-1)?.view()
  }

  get isAnyOpen(): boolean {
    return this.#open.length > 0
  }

  get isAnyWritten(): boolean {
    return this.#open.some(({ isWritten }) => isWritten === true)
  }

  /** @param make makes a dialog, given what closes it, which returns whether it was still open */
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

  /** Closes the one on top, as the Escape key does. */
  closeTop(): void {
    const top = this.#open.at(-1)
    if (top === undefined || top.mayClose?.() === false) return
    top.abandon?.()
    this.#open = this.#open.slice(0, -1)
    this.changed()
  }

  /** Closes those that are about what was shown until now. */
  leave(): void {
    for (const dialog of this.#open) if (!dialog.staysOpen) dialog.abandon?.()
    this.#open = this.#open.filter(({ staysOpen }) => staysOpen)
  }

  /** Nothing that any of them is doing goes on unseen. */
  end(): void {
    for (const dialog of this.#open) dialog.abandon?.()
  }
}
