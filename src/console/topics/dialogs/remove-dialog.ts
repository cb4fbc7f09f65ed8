/**
 * The dialog that removes topics: it says how many there are, by a dry run, and asks. Only its own button removes
 * anything: no key, and nothing that goes on behind a dialog that was closed.
 */
import { type Signal, signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import { descendants, subtree, topic } from '../../../client/index.js'
import type { Context } from '../context.js'
import { copyButton } from '../copy.js'
import { curlCommand } from '../curl.js'
import { describeFailure, retrySecondsOf } from '../failures.js'
import { topicsText, visible } from '../value-text.js'
import type { Dialog } from './dialogs.js'

type Count = number | 'unknown' | 'counting' | 'failed'

/** What it would remove, in words, and as selectors. */
type Choice = readonly [label: string, ...selectors: readonly string[]]

export class RemoveDialog implements Dialog {
  readonly #chosen: Signal<Choice>
  readonly #counts: ReadonlyMap<Choice, Signal<Count>>
  readonly #problem = signal('')
  readonly #removed = signal<number | undefined>(undefined)
  /** During the second count, the user can still cancel. */
  readonly #step = signal<'asking' | 'counting again' | 'removing'>('asking')
  #isClosed = false

  /** @param named what is removed, as the user knows it @param choices the first is chosen */
  constructor(
    private readonly named: string,
    private readonly choices: readonly [Choice, ...Choice[]],
    private readonly context: Context,
    private readonly close: () => boolean,
  ) {
    this.#chosen = signal(choices[0])
    this.#counts = new Map(choices.map((choice) => [choice, signal<Count>('unknown')]))
    void this.#count(choices[0])
  }

  static ofPath(
    path: string,
    isTopic: boolean,
    hasBelow: boolean,
    context: Context,
    close: () => boolean,
  ): RemoveDialog {
    const below: Choice = ['everything below it', descendants(path)]
    const own: Choice = ['the topic itself', topic(path)]
    const both: Choice = ['the topic and everything below it', subtree(path)]
    const choices: readonly [Choice, ...Choice[]] = !isTopic ? [below] : hasBelow ? [own, both, below] : [own]
    return new RemoveDialog(path, choices, context, close)
  }

  /** Anything that has not begun is not removed any more. */
  abandon(): void {
    this.#isClosed = true
  }

  view(): TemplateResult {
    const removed = this.#removed.value
    if (removed !== undefined) {
      return html`
        <h2 id="dialog-title">Removed</h2>
        <p role="status">${topicsText(removed)} removed.</p>
        <button class="primary" @click=${() => this.#cancel()}>Close</button>
      `
    }
    const { session, note } = this.context
    const body = () => JSON.stringify({ selector: this.#chosen.value[1] })
    return html`
      <h2 id="dialog-title">Remove topics</h2>
      <p class="exact named"><bdi>${visible(this.named)}</bdi></p>
      <fieldset>
        <legend>Permanently deleted</legend>
        ${this.choices.map((choice) => this.#choiceView(choice))}
      </fieldset>
      ${this.#problem.value === '' ? nothing : html`<p class="bad" role="alert">${this.#problem.value}</p>`}
      <p class="row">
        ${this.#actionView()}
        <button autofocus @click=${() => this.#cancel()}>${this.#step.value === 'removing' ? 'Close; it continues' : 'Cancel'}</button>
        ${copyButton('Copy the removal as curl', () => curlCommand(session.base, 'remove', body()), note)}
      </p>
    `
  }

  #actionView(): TemplateResult {
    const chosen = this.#chosen.value
    const count = this.#counts.get(chosen)?.value
    if (count === 'failed') return html`<button @click=${() => this.#count(chosen)}>Count again</button>`
    const isReady = this.#step.value === 'asking' && typeof count === 'number' && count > 0
    const onClick = () => {
      if (isReady) void this.#remove()
    }
    // Not disabled, which would take the keyboard's focus from it.
    return html`<button class="danger" aria-disabled=${!isReady} @click=${onClick}>
      ${typeof count === 'number' ? `Remove ${topicsText(count)}` : 'Counting…'}
    </button>`
  }

  #choiceView(choice: Choice): TemplateResult {
    const count = this.#counts.get(choice)?.value
    const choose = () => {
      if (this.#step.value !== 'asking') return
      this.#chosen.value = choice
      this.#problem.value = ''
      if (count === 'unknown' || count === 'failed') void this.#count(choice)
    }
    return html`<label class="choice">
      <input type="radio" name="what" .checked=${choice === this.#chosen.value} @change=${choose}>
      <span>${choice[0]} <span class="quiet">${typeof count === 'number' ? topicsText(count) : ''}</span></span>
    </label>`
  }

  #cancel(): void {
    this.abandon()
    this.close()
  }

  /** One after the other. @returns how many topics are, or would be, removed */
  async #removeAll([, ...selectors]: Choice, dry_run: boolean): Promise<number> {
    let count = 0
    for (const selector of selectors)
      count += (await this.context.session.client.removeMatches(selector, { dry_run })).removed
    return count
  }

  async #count(choice: Choice): Promise<void> {
    const count = this.#counts.get(choice)
    if (count === undefined || count.value === 'counting') return
    count.value = 'counting'
    const isChosen = () => choice === this.#chosen.value
    try {
      count.value = await this.#removeAll(choice, true)
      if (isChosen() && this.#step.value === 'asking') this.#problem.value = ''
    } catch (error) {
      const retrySeconds = retrySecondsOf(error)
      const next = retrySeconds === undefined ? '' : ` Counting again in ${retrySeconds} s.`
      // Only the chosen one is counted again.
      if (isChosen()) this.#problem.value = describeFailure(error, this.context) + next
      count.value = retrySeconds === undefined ? 'failed' : 'unknown'
      if (retrySeconds === undefined) return
      setTimeout(() => {
        if (!this.#isClosed && isChosen() && count.value === 'unknown') void this.#count(choice)
      }, retrySeconds * 1000)
    }
  }

  /** Counts again first: the user has agreed to a number. */
  async #removeAsCounted(choice: Choice): Promise<void> {
    const { note } = this.context
    const agreed = this.#counts.get(choice)?.value
    const now = await this.#removeAll(choice, true)
    if (this.#isClosed) return
    if (now !== agreed) {
      for (const [other, count] of this.#counts) count.value = other === choice ? now : 'unknown'
      this.#problem.value = `It is now ${topicsText(now)}, not ${agreed?.toLocaleString('en')}. Nothing was removed.`
      return
    }
    this.#step.value = 'removing'
    const removed = await this.#removeAll(choice, false)
    this.#removed.value = removed
    if (this.#isClosed) note(`${topicsText(removed)} removed.`)
  }

  async #remove(): Promise<void> {
    this.#step.value = 'counting again'
    this.#problem.value = ''
    try {
      await this.#removeAsCounted(this.#chosen.value)
    } catch (error) {
      this.#problem.value = describeFailure(error, this.context)
      if (this.#isClosed) this.context.note(`Not removed: ${this.#problem.value}`)
    }
    this.#step.value = 'asking'
  }
}
