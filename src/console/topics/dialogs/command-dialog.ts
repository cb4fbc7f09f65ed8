/** The dialog that shows a request as a command, and copies it. */
import { html, type TemplateResult } from 'lit-html'

export class CommandDialog {
  #copied = ''

  constructor(
    private readonly command: string,
    private readonly changed: () => void,
    private readonly close: () => boolean,
  ) {}

  view(): TemplateResult {
    return html`
      <h2 id="dialog-title">As a command</h2>
      <p>Set <code>KEY</code> to the API key first: <code>read -rs KEY</code></p>
      <textarea id="command" class="exact" rows="6" readonly aria-label="Command" .value=${this.command}></textarea>
      <p class="row">
        <button class="primary" @click=${() => this.#copy()}>Copy</button>
        <button @click=${this.close}>Close</button>
        <span role="status">${this.#copied}</span>
      </p>
    `
  }

  async #copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(this.command)
      this.#copied = 'Copied.'
    } catch {
      // Only https and localhost have a clipboard; elsewhere the text is selected, to be copied by hand.
      const field = document.querySelector<HTMLTextAreaElement>('#command')
      field?.focus()
      field?.select()
      this.#copied = 'Selected: copy it with the keyboard.'
    }
    this.changed()
  }
}
