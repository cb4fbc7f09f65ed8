/** The box for a search: by plain words, which become a selector, or by a selector. */
import { html, type TemplateResult } from 'lit-html'
import { selectorFor } from '../../../client/index.js'
import { icon } from '../icons.js'
import { selectorOfWords } from './words.js'

/** @param text what was searched last @param find gets a selector, and the text that stands for it */
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
        <summary>What can be found</summary>
        <p>Words find the paths that contain all of them, in upper or lower case: up to three words in any order, more in the
          order written. A text that begins with <code>?</code>, <code>*</code>, <code>&gt;</code> or <code>#</code> is a
          selector:</p>
        <dl class="examples">
          ${examples.map(([example, meaning]) => html`<dt><button class="plain exact" @click=${() => find(example, example)}>${example}</button></dt><dd>${meaning}</dd>`)}
        </dl>
      </details>
    </search>
  `
}

/** A pattern in the notation of another system is searched as it is, so that the page can say what it means here. */
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
