/** A button that copies a text, with the clipboard that only https and localhost have, or as a user would. */
import { html, type TemplateResult } from 'lit-html'
import { icon } from './icons.js'

/** @param text called when it is copied @param note says that it was done */
export function copyButton(name: string, text: () => string, note: (text: string) => void): TemplateResult {
  const copy = async () => {
    const isCopied = await navigator.clipboard?.writeText(text()).then(
      () => true,
      () => false,
    )
    note(isCopied === true || copySelected(text()) ? 'Copied.' : 'This browser does not allow copying.')
  }
  return html`<button type="button" class="quiet-button" @click=${copy}>${icon('copy')}${name}</button>`
}

/** Without a secure context there is no other way. @returns whether the browser has done it */
function copySelected(text: string): boolean {
  const before = document.activeElement
  const field = document.createElement('textarea')
  field.value = text
  // Everything outside of an open dialog is inert.
  ;(document.querySelector('dialog[open]') ?? document.body).append(field)
  field.select()
  const isCopied = document.execCommand('copy')
  field.remove()
  if (before instanceof HTMLElement) before.focus()
  return isCopied
}
