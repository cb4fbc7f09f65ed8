/** Where the keyboard's focus goes after something that took a while. */

/**
 * A heading takes the focus when what it heads has changed: else a screen reader would say nothing. Not from someone
 * who has gone on meanwhile.
 *
 * @returns gives the focus to an element once the page is drawn, if it is still where it is now
 */
export function focusLater(): (selector: string) => void {
  const origin = document.activeElement
  const written = textIn(origin)
  return (selector) => {
    setTimeout(() => {
      const active = document.activeElement
      const isUnmoved = active === origin && textIn(active) === written
      if (isUnmoved || active === document.body)
        document.querySelector<HTMLElement>(selector)?.focus({ preventScroll: true })
    })
  }
}

function textIn(element: Element | null): string {
  const isField = element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement
  return isField ? element.value : ''
}
