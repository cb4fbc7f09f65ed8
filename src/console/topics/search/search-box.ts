/** The search box. It takes a selector, or plain words, which become one. */
import { html, type TemplateResult } from 'lit-html'
import { selectorFor } from '../../../client/index.js'
import { icon } from '../icons.js'
import { selectorOfWords } from './words.js'

/** @param text the last search @param find receives a selector, and the text that the user entered */
export function searchBox(text: string, find: (selector: string, text: string) => void): TemplateResult {
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault()
    const words = String(new FormData(event.target as HTMLFormElement).get('words'))
    const selector = isSelector(words) ? words : selectorOfWords(words)
    if (selector !== undefined) find(selector, words)
  }
  return html`
    <search>
      <form class="row" @submit=${onSubmit}>
        <input id="words" name="words" aria-label="Search: words or a selector" placeholder="Words or a selector ( / )" autocomplete="off" spellcheck="false" required .value=${text}>
        <button>${icon('search')}Find</button>
      </form>
      <details class="quiet">
        <summary>Search syntax</summary>
        <p>Words find the paths that contain all of them, ignoring case; more than three words match only in the given order.
          Text that starts with <code>?</code>, <code>*</code>, <code>&gt;</code> or <code>#</code> is a selector:</p>
        <dl class="examples">
          ${examples.map(([example, meaning]) => html`<dt><button class="plain exact" @click=${() => find(example, example)}>${example}</button></dt><dd>${meaning}</dd>`)}
        </dl>
      </details>
    </search>
  `
}

/** Also true for another system's pattern, which is searched as is, so that the page can suggest a selector. */
function isSelector(text: string): boolean {
  return /^[?*>#]/.test(text) || (!/\s/.test(text) && selectorFor(text) !== undefined)
}

const examples = [
  ['?.*//', 'every topic'],
  ['?.*/', 'every topic except those at the top'],
  ['>a/b', 'only the topic a/b'],
  ['?a/b//', 'a/b and everything below it'],
  ['?a/.*/c', 'a/…/c with any one segment in between'],
  ['*.*temperature.*', 'every path that contains temperature'],
] as const
