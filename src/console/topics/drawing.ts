/**
 * When the page is drawn: at most once a frame, however much changes in between. What needs the page as it has become,
 * such as the keyboard's focus, waits for that draw here, and nowhere else.
 */

/** A hidden tab has no frames, but its title is seen: between two draws of it, in ms. */
const hiddenDrawMs = 1000

export class Drawing {
  #isScheduled = false
  #waiting: readonly (() => void)[] = []

  /** @param render draws everything as it is */
  constructor(private readonly render: () => void) {}

  /** Draws the page with the next frame. */
  readonly draw = (): void => {
    if (this.#isScheduled) return
    this.#isScheduled = true
    if (document.hidden) setTimeout(this.#drawNow, hiddenDrawMs)
    else requestAnimationFrame(this.#drawNow)
  }

  /** Draws the page with the next frame, and then does something with it. */
  readonly afterDraw = (action: () => void): void => {
    this.#waiting = [...this.#waiting, action]
    this.draw()
  }

  /**
   * A heading takes the focus when what it heads has changed: else a screen reader would say nothing. Not from someone
   * who has moved on.
   *
   * @returns gives the focus to an element with the next draw, if the focus is still where it is now, or has gone with
   *   the element that had it
   */
  readonly focusLater = (): ((selector: string) => void) => {
    const origin = document.activeElement
    const written = textIn(origin)
    return (selector) =>
      this.afterDraw(() => {
        const active = document.activeElement
        const isUnmoved = active === origin && textIn(active) === written
        if (isUnmoved || active === document.body)
          document.querySelector<HTMLElement>(selector)?.focus({ preventScroll: true })
      })
  }

  readonly #drawNow = (): void => {
    this.#isScheduled = false
    const waiting = this.#waiting
    this.#waiting = []
    this.render()
    for (const action of waiting) action()
  }
}

function textIn(element: Element | null): string {
  const isField = element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement
  return isField ? element.value : ''
}
