/** A dialog with a form: it sends one request at a time and shows the reason for a failure. */
import { html, type TemplateResult } from 'lit-html'
import type { Context } from '../context.js'
import { alertView } from '../failures.js'
import { Task } from '../task.js'
import type { Dialog } from './dialogs.js'

export abstract class FormDialog implements Dialog {
  /** Stays open, because a form does not depend on the shown topic. */
  readonly staysOpen = true
  protected readonly task = new Task()
  protected hasInput = false

  /** @param action the label of the submit button */
  constructor(
    protected readonly context: Context,
    private readonly title: string,
    private readonly action: string,
  ) {}

  get isWritten(): boolean {
    return this.hasInput
  }

  protected abstract fields(): TemplateResult

  protected abstract submit(form: FormData): Promise<void>

  view(): TemplateResult {
    const onSubmit = (event: SubmitEvent) => {
      event.preventDefault()
      // The dialog may have ended after the last drawing.
      if (this.context.dialogs.shown.peek() !== this) return
      void this.task.run(this.context, () => this.submit(new FormData(event.target as HTMLFormElement)))
    }
    return html`
      <h2 id="dialog-title">${this.title}</h2>
      <form @submit=${onSubmit} @input=${() => (this.hasInput = true)}>
        ${this.fields()}
        ${alertView(this.task.problem.value)}
        <p class="row">${this.buttons(this.action)}</p>
      </form>
    `
  }

  protected buttons(action: string): TemplateResult {
    return html`
      <button class="primary" aria-disabled=${this.task.isBusy.value}>${action}</button>
      <button type="button" @click=${() => this.context.dialogs.end(this)}>Cancel</button>`
  }
}
