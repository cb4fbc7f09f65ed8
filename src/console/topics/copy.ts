/** Buttons that copy text: with the clipboard API, which requires https or localhost, otherwise by selecting the text. */
import { html, type TemplateResult } from 'lit-html'
import type { Context } from './context.js'
import { icon } from './icons.js'

/** @param text returns the text to copy @param note reports the result */
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

/** Copies requests as shell commands. They do not contain the key, because commands end up in logs. */
export function curlButton(name: string, context: Context, route: string, ...bodies: object[]): TemplateResult {
  const commands = bodies.map((body) => [
    `curl -sS ${quoted(`${context.session.base}/topics/${route}`)}`,
    '-H "authorization: Apikey $KEY"',
    `-H 'content-type: application/json'`,
    `--data-binary ${quoted(JSON.stringify(body))}`,
  ])
  return copyButton(name, () => commands.map((words) => words.join(' \\\n  ')).join('\n'), context.note)
}

/** Quotes text as one word for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** The only way to copy outside a secure context. @returns whether the browser copied the text */
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
