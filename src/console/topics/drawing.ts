/** Draws the page at most once a frame. Actions that need the drawn page, such as focus, wait for it here alone. */

/** Between draws of a hidden tab, in ms: it has no frames, but its title is seen. */
const hiddenDrawMs = 1000

export class Drawing {
  #isScheduled = false
  #waiting: readonly (() => void)[] = []

  constructor(private readonly render: () => void) {}

  readonly draw = (): void => {
    if (this.#isScheduled) return
    this.#isScheduled = true
    if (document.hidden) setTimeout(this.#drawNow, hiddenDrawMs)
    else requestAnimationFrame(this.#drawNow)
  }

  readonly afterDraw = (action: () => void): void => {
    this.#waiting = [...this.#waiting, action]
    this.draw()
  }

  /**
   * A heading takes the focus when its contents have changed: otherwise a screen reader would say nothing.
   *
   * @returns gives the focus to an element with the next draw, unless the user has moved it by then
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
