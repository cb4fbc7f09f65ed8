/** The dialog that removes topics: it says how many there are, by a dry run, and asks. */
import { descendants, subtree, topic } from '../../client/index.js'
import { html, nothing, type TemplateResult } from '../vendor/lit-html.js'
import { type Context, describeFailure } from './context.js'
import { topicsText, visible } from './value-text.js'

/** One thing that may be removed, and how many topics that is; undefined until it is known. */
interface Choice {
  readonly label: string
  /** A text of someone's that belongs to the label. */
  readonly named?: string
  readonly selector: string
  count: number | undefined
}

export class RemoveDialog {
  readonly #context: Context
  readonly #close: () => boolean
  readonly #choices: readonly Choice[]
  #chosen: Choice
  #problem = ''
  #removed: number | undefined
  #isBusy = false

  private constructor(choices: readonly [Choice, ...Choice[]], context: Context, close: () => boolean) {
    this.#choices = choices
    this.#chosen = choices[0]
    this.#context = context
    this.#close = close
    for (const choice of choices) void this.#count(choice)
  }

  /** For the topic at a path, and what is below it. */
  static ofPath(path: string, context: Context, close: () => boolean): RemoveDialog {
    const choices = [
      { label: 'this topic', selector: topic(path), count: undefined },
      { label: 'this topic and everything below it', selector: subtree(path), count: undefined },
      { label: 'everything below it', selector: descendants(path), count: undefined },
    ] as const
    return new RemoveDialog([choices[0], choices[1], choices[2]], context, close)
  }

  /** For everything that a selector matches. */
  static ofSelector(selector: string, context: Context, close: () => boolean): RemoveDialog {
    return new RemoveDialog(
      [{ label: 'everything that matches', named: selector, selector, count: undefined }],
      context,
      close,
    )
  }

  view(): TemplateResult {
    if (this.#removed !== undefined) {
      return html`
        <h2 id="dialog-title">Removed</h2>
        <p role="status">${topicsText(this.#removed)} removed.</p>
        <button class="primary" @click=${this.#close}>Close</button>
      `
    }
    const { count, selector } = this.#chosen
    const body = JSON.stringify({ selector })
    const onSubmit = (event: Event) => {
      event.preventDefault()
      void this.#remove()
    }
    return html`
      <form @submit=${onSubmit}>
        <h2 id="dialog-title">Remove topics</h2>
        <fieldset>
          <legend>What is removed, for good</legend>
          ${this.#choices.map((choice) => this.#choiceView(choice))}
        </fieldset>
        ${this.#problem === '' ? nothing : html`<p class="bad" role="alert">${this.#problem}</p>`}
        <p class="row">
          <button class="danger" ?disabled=${this.#isBusy || count === undefined || count === 0}>
            ${count === undefined ? 'Counting…' : `Remove ${topicsText(count)}`}
          </button>
          <button type="button" @click=${this.#close}>Cancel</button>
          <button type="button" @click=${() => this.#context.showCommand('remove', body)}>Copy as curl</button>
        </p>
      </form>
    `
  }

  #choiceView(choice: Choice): TemplateResult {
    const choose = () => {
      this.#chosen = choice
      this.#context.changed()
    }
    return html`<label class="choice">
      <input type="radio" name="what" .checked=${choice === this.#chosen} @change=${choose}>
      <span>${choice.label} ${choice.named === undefined ? nothing : html`<bdi class="exact">${visible(choice.named)}</bdi>`} <span class="quiet">${choice.count === undefined ? '' : topicsText(choice.count)}</span></span>
    </label>`
  }

  async #count(choice: Choice): Promise<void> {
    try {
      const { removed } = await this.#context.session.client.removeMatches(choice.selector, { dry_run: true })
      choice.count = removed
    } catch (error) {
      this.#problem = describeFailure(error, this.#context)
    }
    this.#context.changed()
  }

  /** Counts again first: what someone has agreed to is a number. */
  async #removeAsCounted(choice: Choice): Promise<void> {
    const { client } = this.#context.session
    const { count, selector } = choice
    const now = (await client.removeMatches(selector, { dry_run: true })).removed
    if (now !== count) {
      choice.count = now
      this.#problem = `It is ${topicsText(now)} now, not ${(count ?? 0).toLocaleString('en')}. Nothing was removed.`
      return
    }
    this.#removed = (await client.removeMatches(selector)).removed
    this.#context.listsChanged()
  }

  async #remove(): Promise<void> {
    this.#isBusy = true
    this.#problem = ''
    this.#context.changed()
    try {
      await this.#removeAsCounted(this.#chosen)
    } catch (error) {
      this.#problem = describeFailure(error, this.#context)
    }
    this.#isBusy = false
    this.#context.changed()
  }
}
