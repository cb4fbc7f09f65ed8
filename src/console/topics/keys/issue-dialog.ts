/**
 * The dialog that gives a key a token: a new key, or one whose token is replaced. It asks, sends, and then shows the token, which
 * is nowhere else: it is dropped as the dialog closes.
 */
import { signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import type { Context } from '../context.js'
import { copyButton } from '../copy.js'
import type { Dialog } from '../dialogs/dialogs.js'
import { describeFailure } from '../failures.js'
import { timeText, visible } from '../value-text.js'
import { createForm, readCreation } from './create-form.js'
import { readRotation, rotateForm } from './rotate-form.js'
import { type Creation, type Issued, issue, type Key, type Rotation } from './wire.js'

/** What the dialog asks before it sends. */
interface Question {
  readonly title: string
  readonly action: string
  readonly form: () => TemplateResult
  readonly read: (form: FormData) => Creation | Rotation
}

export class IssueDialog implements Dialog {
  /** The key is not what the page shows next to it. */
  readonly staysOpen = true
  isWritten = false
  readonly #issued = signal<Issued | undefined>(undefined)
  readonly #problem = signal('')
  readonly #copied = signal('')
  readonly #isBusy = signal(false)
  #isClosed = false

  private constructor(
    private readonly question: Question,
    private readonly context: Context,
    private readonly close: () => boolean,
    private readonly onIssued: () => void,
  ) {}

  /** @param own the key of this session, whose limits a new key has at most */
  static create(own: Key | undefined, context: Context, close: () => boolean, onIssued: () => void): IssueDialog {
    const form = () => createForm(context.session.key, own)
    const question = { title: 'Create an API key', action: 'Create', form, read: readCreation }
    return new IssueDialog(question, context, close, onIssued)
  }

  static rotate(key: Key, context: Context, close: () => boolean, onIssued: () => void): IssueDialog {
    const form = () => rotateForm(key, key.name === context.session.key.name)
    const read = (data: FormData) => readRotation(key, data)
    const question = { title: 'Give an API key another token', action: 'Rotate', form, read }
    return new IssueDialog(question, context, close, onIssued)
  }

  get closeQuestion(): string | undefined {
    return this.#issued.peek() === undefined ? undefined : 'Close? The token is not shown again.'
  }

  /** Nothing keeps the token. */
  abandon(): void {
    this.#isClosed = true
    this.#issued.value = undefined
    this.isWritten = false
  }

  #end(): void {
    this.abandon()
    this.close()
  }

  view(): TemplateResult {
    const issued = this.#issued.value
    return issued === undefined ? this.#questionView() : this.#tokenView(issued)
  }

  #questionView(): TemplateResult {
    const { title, action, form } = this.question
    const onSubmit = (event: SubmitEvent) => {
      event.preventDefault()
      void this.#send(new FormData(event.target as HTMLFormElement))
    }
    return html`
      <h2 id="dialog-title">${title}</h2>
      <form @submit=${onSubmit} @input=${() => (this.isWritten = true)}>
        ${form()}
        ${this.#problem.value === '' ? nothing : html`<p class="bad" role="alert">${this.#problem.value}</p>`}
        <p class="row">
          <button class="primary" aria-disabled=${this.#isBusy.value}>${action}</button>
          <button type="button" @click=${() => this.#end()}>Cancel</button>
        </p>
      </form>
    `
  }

  #tokenView({ name, token, former_until: formerUntil, late = [] }: Issued): TemplateResult {
    const note = (text: string) => (this.#copied.value = text)
    return html`
      <h2 id="dialog-title">The token of <bdi class="exact">${visible(name)}</bdi></h2>
      <p class="exact value token" tabindex="0" role="group" aria-label="Token">${token}</p>
      <p class="row">${copyButton('Copy the token', () => token, note)}<span role="status" class="good">${this.#copied.value}</span></p>
      <p class="notice">Copy it now: it is not shown again, and no one can look it up.</p>
      ${formerUntil === undefined ? nothing : html`<p>The old token is valid until <time datetime=${formerUntil}>${timeText(formerUntil)}</time>.</p>`}
      ${late.length === 0 ? nothing : html`<p class="bad">Workers that did not respond may not know it yet: ${late.join(', ')}.</p>`}
      <p class="row"><button class="primary" autofocus @click=${() => this.#end()}>I have the token</button></p>
    `
  }

  async #send(form: FormData): Promise<void> {
    if (this.#isBusy.value) return
    this.#isBusy.value = true
    this.#problem.value = ''
    try {
      const issued = await issue(this.context.session, this.question.read(form))
      this.onIssued()
      if (this.#isClosed) return this.context.note(`${visible(issued.name)} has a token that was not shown.`)
      this.#issued.value = issued
      this.isWritten = true
    } catch (error) {
      this.#problem.value = describeFailure(error, this.context)
    }
    this.#isBusy.value = false
  }
}
