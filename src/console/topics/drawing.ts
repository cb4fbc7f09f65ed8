/**
 * Draws the page: at most once a frame, and only if a signal that the last draw has read has another value. State is kept in
 * signals, so nothing asks for a draw. The focus is given here alone, after a draw.
 */
import { effect, signal } from '@preact/signals-core'
import { repeat } from 'lit-html/directives/repeat.js'

/** Between draws of a hidden tab, in ms: it has no frames, but its title is seen. */
const hiddenDrawMs = 1000

let draw = (): void => {}
let isScheduled = false
let waiting: readonly (() => void)[] = []

/** Draws now, and again after every change of what `render` has read. */
export function keepDrawn(render: () => void): void {
  let forget = (): void => {}
  draw = () => {
    isScheduled = false
    forget()
    let isRendered = false
    // Its second run reads nothing, so there is no third.
    try {
      forget = effect(() => {
        if (isRendered) schedule()
        else render()
        isRendered = true
      })
    } catch (error) {
      // A defect; what is on the screen stays, and the next draw may be another.
      reportError(error)
      setTimeout(schedule, hiddenDrawMs)
    }
    const actions = waiting
    waiting = []
    for (const action of actions) action()
  }
  draw()
}

function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  if (document.hidden) setTimeout(() => draw(), hiddenDrawMs)
  else requestAnimationFrame(() => draw())
}

export function afterDraw(action: () => void): void {
  waiting = [...waiting, action]
  schedule()
}

/** Each keeps its elements for as long as its path is there. */
export function byPath<Row extends { readonly path: string }>(
  rows: readonly Row[],
  view: (row: Row) => unknown,
): unknown {
  return repeat(rows, ({ path }) => path, view)
}

/**
 * A heading takes the focus when its contents have changed: otherwise a screen reader would say nothing.
 *
 * @returns gives the focus to an element with the next draw, unless the user has moved it by then
 */
export function focusLater(): (selector: string) => void {
  const origin = document.activeElement
  const written = textIn(origin)
  return (selector) =>
    afterDraw(() => {
      const active = document.activeElement
      const isUnmoved = active === origin && textIn(active) === written
      if (isUnmoved || active === document.body) show(document.querySelector<HTMLElement>(selector))
    })
}

/** In a narrow window, what was chosen may be far below. */
function show(element: HTMLElement | null): void {
  element?.focus({ preventScroll: true })
  const { top = 0, bottom = 0 } = element?.getBoundingClientRect() ?? {}
  if (top < 0 || bottom > innerHeight / 2) element?.scrollIntoView()
}

function textIn(element: Element | null): string {
  const isField = element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement
  return isField ? element.value : ''
}

/** The time, in ms since the epoch, to the second: for texts such as "3 s ago", which are drawn again by it. */
export const nowMs = signal(Date.now())

whileSeen(1000, () => (nowMs.value = Date.now()))

/** Repeats an action, but not in a hidden tab. @returns ends it */
export function whileSeen(ms: number, action: () => unknown): () => void {
  const timer = setInterval(() => document.hidden || action(), ms)
  return () => clearInterval(timer)
}
