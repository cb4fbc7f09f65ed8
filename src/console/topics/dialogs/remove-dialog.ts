/**
 * The dialog that removes topics: it says how many there are, by a dry run, and asks. Only its own button removes
 * anything: no key, and nothing that goes on behind a dialog that was closed.
 */

import { html, nothing, type TemplateResult } from 'lit-html'
import { descendants, subtree, topic } from '../../../client/index.js'
import { type Context, describeFailure, retrySecondsOf } from '../context.js'
import { topicsText, visible } from '../value-text.js'

interface Choice {
  readonly label: string
  readonly selector: string
  count: number | 'unknown' | 'counting' | 'failed'
}

interface RemoveOptions {
  /** A path or a selector. */
  readonly named: string
  readonly choices: readonly [Choice, ...Choice[]]
  readonly context: Context
  readonly close: () => boolean
}

const choiceOf = (label: string, selector: string): Choice => ({ label, selector, count: 'unknown' })

export class RemoveDialog {
  #chosen: Choice
  #problem = ''
  #removed: number | undefined
  /** During the second count, the user can still cancel. */
  #step: 'asking' | 'counting again' | 'removing' = 'asking'
  #isClosed = false

  private constructor(private readonly options: RemoveOptions) {
    this.#chosen = options.choices[0]
    void this.#count(this.#chosen)
  }

  static ofPath(path: string, isTopic: boolean, context: Context, close: () => boolean): RemoveDialog {
    const below = choiceOf('everything below it', descendants(path))
    const own = choiceOf('the topic itself', topic(path))
    const both = choiceOf('the topic and everything below it', subtree(path))
    const choices: [Choice, ...Choice[]] = isTopic ? [own, both, below] : [below]
    return new RemoveDialog({ named: path, choices, context, close })
  }

  static ofSelector(selector: string, context: Context, close: () => boolean): RemoveDialog {
    const choices: [Choice] = [choiceOf('everything that matches', selector)]
    return new RemoveDialog({ named: selector, choices, context, close })
  }

  /** Anything that has not begun is not removed any more. */
  abandon(): void {
    this.#isClosed = true
  }

  view(): TemplateResult {
    if (this.#removed !== undefined) {
      return html`
        <h2 id="dialog-title">Removed</h2>
        <p role="status">${topicsText(this.#removed)} removed.</p>
        <button class="primary" @click=${() => this.#close()}>Close</button>
      `
    }
    const { named, choices, context } = this.options
    const body = JSON.stringify({ selector: this.#chosen.selector })
    return html`
      <h2 id="dialog-title">Remove topics</h2>
      <p class="exact named"><bdi>${visible(named)}</bdi></p>
      <fieldset>
        <legend>Permanently deleted</legend>
        ${choices.map((choice) => this.#choiceView(choice))}
      </fieldset>
      ${this.#problem === '' ? nothing : html`<p class="bad" role="alert">${this.#problem}</p>`}
      <p class="row">
        ${this.#actionView()}
        <button autofocus @click=${() => this.#close()}>${this.#step === 'removing' ? 'Close; it continues' : 'Cancel'}</button>
        <button @click=${() => context.showCommand('remove', body)}>Copy the removal as curl</button>
      </p>
    `
  }

  #actionView(): TemplateResult {
    const { count } = this.#chosen
    if (count === 'failed') return html`<button @click=${() => this.#count(this.#chosen)}>Count again</button>`
    const isReady = this.#step === 'asking' && typeof count === 'number' && count > 0
    const onClick = () => {
      if (isReady) void this.#remove()
    }
    // Not disabled, which would take the keyboard's focus from it.
    return html`<button class="danger" aria-disabled=${!isReady} @click=${onClick}>
      ${typeof count === 'number' ? `Remove ${topicsText(count)}` : 'Counting…'}
    </button>`
  }

  #choiceView(choice: Choice): TemplateResult {
    const { count } = choice
    const choose = () => {
      if (this.#step !== 'asking') return
      this.#chosen = choice
      this.#problem = ''
      if (count === 'unknown' || count === 'failed') void this.#count(choice)
      this.options.context.changed()
    }
    return html`<label class="choice">
      <input type="radio" name="what" .checked=${choice === this.#chosen} @change=${choose}>
      <span>${choice.label} <span class="quiet">${typeof count === 'number' ? topicsText(count) : ''}</span></span>
    </label>`
  }

  #close(): void {
    this.abandon()
    this.options.close()
  }

  async #count(choice: Choice): Promise<void> {
    const { context } = this.options
    if (choice.count === 'counting') return
    choice.count = 'counting'
    context.changed()
    try {
      choice.count = (await context.session.client.removeMatches(choice.selector, { dry_run: true })).removed
      if (choice === this.#chosen && this.#step === 'asking') this.#problem = ''
    } catch (error) {
      const retrySeconds = retrySecondsOf(error)
      const problem = describeFailure(error, context)
      const next = retrySeconds === undefined ? '' : ` Counting again in ${retrySeconds} s.`
      // Only the chosen one is counted again.
      if (choice === this.#chosen) this.#problem = problem + next
      choice.count = 'failed'
      if (retrySeconds !== undefined) {
        choice.count = 'unknown'
        setTimeout(() => {
          if (!this.#isClosed && choice === this.#chosen && choice.count === 'unknown') void this.#count(choice)
        }, retrySeconds * 1000)
      }
    }
    context.changed()
  }

  /** Counts again first: the user has agreed to a number. */
  async #removeAsCounted(choice: Choice): Promise<void> {
    const { context, choices } = this.options
    const { client } = context.session
    const agreed = choice.count
    const now = (await client.removeMatches(choice.selector, { dry_run: true })).removed
    if (this.#isClosed) return
    if (now !== agreed) {
      for (const other of choices) other.count = 'unknown'
      choice.count = now
      this.#problem = `It is now ${topicsText(now)}, not ${agreed.toLocaleString('en')}. Nothing was removed.`
      return
    }
    this.#step = 'removing'
    context.changed()
    this.#removed = (await client.removeMatches(choice.selector)).removed
    context.listsChanged()
    if (this.#isClosed) context.note(`${topicsText(this.#removed)} removed.`)
  }

  async #remove(): Promise<void> {
    const { context } = this.options
    this.#step = 'counting again'
    this.#problem = ''
    context.changed()
    try {
      await this.#removeAsCounted(this.#chosen)
    } catch (error) {
      this.#problem = describeFailure(error, context)
      if (this.#isClosed) context.note(`Not removed: ${this.#problem}`)
    }
    this.#step = 'asking'
    context.changed()
  }
}
