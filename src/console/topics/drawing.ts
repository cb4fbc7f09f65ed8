/**
 * Draws the page, at most once per frame, after a change to a signal that the last draw read. All state is in signals, so other
 * files request a draw only to run an action after it, such as moving the focus.
 */
import { effect, signal } from '@preact/signals-core'
import { repeat } from 'lit-html/directives/repeat.js'

/** Interval between draws of a hidden tab, in ms: it has no frames, but its title is visible. */
const hiddenDrawMs = 1000

let draw = (): void => {}
let isScheduled = false
let waiting: readonly (() => void)[] = []

/** Draws now, and again after each change to a signal that `render` has read. */
export function keepDrawn(render: () => void): void {
  let forget = (): void => {}
  draw = () => {
    isScheduled = false
    forget()
    let isRendered = false
    // The effect's second run reads no signal, so there is no third run.
    try {
      forget = effect(() => {
        if (isRendered) schedule()
        else render()
        isRendered = true
      })
    } catch (error) {
      // A defect: the screen stays as it is, and the next draw may succeed.
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

/** Rows that keep their elements as long as their path remains. */
export function byPath<Row extends { readonly path: string }>(
  rows: readonly Row[],
  view: (row: Row) => unknown,
): unknown {
  return repeat(rows, ({ path }) => path, view)
}

/**
 * Moves the focus, for example to a heading whose contents have changed, which a screen reader would otherwise not announce.
 *
 * @returns a function that focuses an element after the next draw, unless the user has moved the focus or typed
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

/** Focuses an element and scrolls to it if needed: in a narrow window, it may be far below. */
function show(element: HTMLElement | null): void {
  element?.focus({ preventScroll: true })
  const { top = 0, bottom = 0 } = element?.getBoundingClientRect() ?? {}
  if (top < 0 || bottom > innerHeight / 2) element?.scrollIntoView()
}

function textIn(element: Element | null): string {
  const isField = element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement
  return isField ? element.value : ''
}

/** The current Unix time in ms, updated every second to redraw text such as "3 s ago". */
export const nowMs = signal(Date.now())

whileSeen(1000, () => (nowMs.value = Date.now()))

/** Repeats an action, except while the tab is hidden. @returns a function that stops it */
export function whileSeen(ms: number, action: () => unknown): () => void {
  const timer = setInterval(() => document.hidden || action(), ms)
  return () => clearInterval(timer)
}
