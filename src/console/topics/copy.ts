/** A button that copies a text. Only https and localhost have a clipboard; elsewhere the text is shown, to be copied by hand. */
import { html, type TemplateResult } from 'lit-html'
import { icon } from './icons.js'

/** @param text called when it is copied @param note says that it was done */
export function copyButton(name: string, text: () => string, note: (text: string) => void): TemplateResult {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text())
      note('Copied.')
    } catch {
      prompt(`${name}:`, text())
    }
  }
  return html`<button type="button" class="quiet-button" @click=${copy}>${icon('copy')}${name}</button>`
}
