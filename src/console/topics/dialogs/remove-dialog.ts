/**
 * The dialog that removes topics. It counts them with a dry run and asks for confirmation. Only its button removes
 * anything: there is no keyboard shortcut, and a closed dialog starts no removal.
 */
import { type Signal, signal } from '@preact/signals-core'
import { html, type TemplateResult } from 'lit-html'
import { descendants, subtree, topic } from '../../../client/index.js'
import { formatWhole } from '../../shared/formats.js'
import type { Context } from '../context.js'
import { curlButton } from '../copy.js'
import { alertView, describeFailure } from '../failures.js'
import { topicsText, visible } from '../value-text.js'
import type { Dialog } from './dialogs.js'

type Count = number | 'unknown' | 'counting' | 'failed'

type Choice = ReturnType<typeof choice>

/** A set of topics that the user can choose to remove. @param label its description for the user */
export function choice(label: string, ...selectors: readonly string[]) {
  return { label, selectors, count: signal<Count>('unknown') } as const
}

/** The first choice is selected initially. */
type Choices = readonly [Choice, ...Choice[]]

export function choicesAt(path: string, isTopic: boolean, hasBelow: boolean): Choices {
  const below = choice('everything below it', descendants(path))
  const own = choice('the topic itself', topic(path))
  if (!isTopic) return [below]
  return hasBelow ? [own, choice('the topic and everything below it', subtree(path)), below] : [own]
}

export class RemoveDialog implements Dialog {
  readonly #chosen: Signal<Choice>
  readonly #problem = signal('')
  readonly #removed = signal<number | undefined>(undefined)
  /** During the second count, the user can still cancel. */
  readonly #step = signal<'asking' | 'counting again' | 'removing'>('asking')

  /** @param named a description of the topics: a path, paths or a selector */
  constructor(
    private readonly named: string,
    private readonly choices: Choices,
    private readonly context: Context,
    private readonly onRemoved = (): void => {},
  ) {
    this.#chosen = signal(choices[0])
    void this.#count(choices[0])
  }

  /** A closed dialog starts no removal, but one that has started continues. */
  get #isClosed(): boolean {
    return this.context.dialogs.shown.peek() !== this
  }

  view(): TemplateResult {
    const removed = this.#removed.value
    const close = () => this.context.dialogs.end(this)
    if (removed !== undefined) {
      return html`
        <h2 id="dialog-title">Removed</h2>
        <p role="status">${topicsText(removed)} removed.</p>
        <button class="primary" @click=${close}>Close</button>
      `
    }
    const requests = this.#chosen.value.selectors.map((selector) => ({ selector }))
    return html`
      <h2 id="dialog-title">Remove topics</h2>
      <p class="exact named"><bdi>${visible(this.named)}</bdi></p>
      <fieldset>
        <legend>Permanently delete</legend>
        ${this.choices.map((choice) => this.#choiceView(choice))}
      </fieldset>
      ${alertView(this.#problem.value)}
      <p class="row">
        ${this.#actionView()}
        <button autofocus @click=${close}>${this.#step.value === 'removing' ? 'Close; removal continues' : 'Cancel'}</button>
        ${curlButton('Copy the removal as curl', this.context, 'remove', ...requests)}
      </p>
    `
  }

  #actionView(): TemplateResult {
    const chosen = this.#chosen.value
    const count = chosen.count.value
    if (count === 'failed') return html`<button @click=${() => this.#count(chosen)}>Count again</button>`
    const agreed = this.#step.value === 'asking' && typeof count === 'number' && count > 0 ? count : undefined
    // Removes only what this drawing shows, and only once.
    const onClick = () => {
      const isShown = chosen === this.#chosen.peek() && this.#step.peek() === 'asking'
      if (agreed !== undefined && isShown) void this.#remove(chosen, agreed)
    }
    // Not `disabled`, which would remove the keyboard focus.
    return html`<button class="danger" aria-disabled=${agreed === undefined} @click=${onClick}>
      ${typeof count === 'number' ? `Remove ${topicsText(count)}` : 'Counting…'}
    </button>`
  }

  #choiceView(choice: Choice): TemplateResult {
    const count = choice.count.value
    const choose = (event: Event) => {
      // A click before the choice is drawn as disabled changes nothing.
      if (this.#step.peek() !== 'asking') return event.preventDefault()
      this.#chosen.value = choice
      this.#problem.value = ''
      if (typeof count !== 'number') void this.#count(choice)
    }
    return html`<label class="choice">
      <input type="radio" name="what" ?disabled=${this.#step.value !== 'asking'} .checked=${choice === this.#chosen.value} @click=${choose}>
      <span>${choice.label} <span class="quiet">${typeof count === 'number' ? topicsText(count) : ''}</span></span>
    </label>`
  }

  /** Removes the topics of one selector at a time. @returns the number of topics that were, or would be, removed */
  async #removeAll({ selectors }: Choice, dry_run: boolean): Promise<number> {
    let count = 0
    for (const selector of selectors)
      count += (await this.context.session.client.removeMatches(selector, { dry_run })).removed
    return count
  }

  async #count(choice: Choice): Promise<void> {
    const { count } = choice
    if (count.value === 'counting') return
    count.value = 'counting'
    const isChosen = () => choice === this.#chosen.value
    try {
      count.value = await this.#removeAll(choice, true)
      if (isChosen() && this.#step.value === 'asking') this.#problem.value = ''
    } catch (error) {
      if (isChosen()) this.#problem.value = describeFailure(error, this.context)
      count.value = 'failed'
    }
  }

  /** Counts again first, because the user agreed to a specific number. */
  async #removeAsCounted(choice: Choice, agreed: number): Promise<void> {
    const { note } = this.context
    const now = await this.#removeAll(choice, true)
    if (this.#isClosed) return
    if (now !== agreed) {
      for (const { count } of this.choices) count.value = count === choice.count ? now : 'unknown'
      this.#problem.value = `The count is now ${topicsText(now)}, not ${formatWhole(agreed)}. Nothing was removed.`
      return
    }
    this.#step.value = 'removing'
    const removed = await this.#removeAll(choice, false)
    this.#removed.value = removed
    this.onRemoved()
    if (this.#isClosed) note(`${topicsText(removed)} removed.`)
  }

  async #remove(choice: Choice, agreed: number): Promise<void> {
    this.#step.value = 'counting again'
    this.#problem.value = ''
    try {
      await this.#removeAsCounted(choice, agreed)
    } catch (error) {
      this.#problem.value = describeFailure(error, this.context)
      if (this.#isClosed) this.context.note(`The removal did not finish: ${this.#problem.value}`)
    }
    this.#step.value = 'asking'
  }
}
