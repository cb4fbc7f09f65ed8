/** The dialog that removes topics: it says how many there are, by a dry run, and asks. */
import { descendants, subtree, topic } from '../../client/index.js'
import { html, nothing, type TemplateResult } from '../vendor/lit-html.js'
import { type Context, describeFailure } from './context.js'

/** One thing that may be removed, and how many topics that is; undefined until it is known. */
interface Choice {
  readonly label: string
  readonly selector: string
  count: number | undefined
}

export class RemoveDialog {
  readonly #context: Context
  readonly #close: () => void
  readonly #choices: readonly Choice[]
  #chosen: Choice
  #problem = ''
  #removed: number | undefined
  #isBusy = false

  private constructor(choices: readonly [Choice, ...Choice[]], context: Context, close: () => void) {
    this.#choices = choices
    this.#chosen = choices[0]
    this.#context = context
    this.#close = close
    for (const choice of choices) void this.#count(choice)
  }

  /** For the topic at a path, and what is below it. */
  static ofPath(path: string, context: Context, close: () => void): RemoveDialog {
    const choices = [
      { label: 'this topic', selector: topic(path), count: undefined },
      { label: 'this topic and everything below it', selector: subtree(path), count: undefined },
      { label: 'everything below it', selector: descendants(path), count: undefined },
    ] as const
    return new RemoveDialog([choices[0], choices[1], choices[2]], context, close)
  }

  /** For everything that a selector matches. */
  static ofSelector(selector: string, context: Context, close: () => void): RemoveDialog {
    return new RemoveDialog(
      [{ label: `everything that ${selector} matches`, selector, count: undefined }],
      context,
      close,
    )
  }

  view(): TemplateResult {
    if (this.#removed !== undefined) {
      return html`
        <h2>Removed</h2>
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
        <h2>Remove topics</h2>
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
      <span>${choice.label} <span class="quiet">${choice.count === undefined ? '' : topicsText(choice.count)}</span></span>
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

  async #remove(): Promise<void> {
    this.#isBusy = true
    this.#context.changed()
    try {
      this.#removed = (await this.#context.session.client.removeMatches(this.#chosen.selector)).removed
      this.#context.listsChanged()
    } catch (error) {
      this.#problem = describeFailure(error, this.#context)
    }
    this.#isBusy = false
    this.#context.changed()
  }
}

function topicsText(count: number): string {
  return count === 1 ? '1 topic' : `${count.toLocaleString('en')} topics`
}
