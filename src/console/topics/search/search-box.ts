/** The box for a search: by plain words, which become a selector, or by a selector. */
import { html, type TemplateResult } from 'lit-html'

/** The initial texts of the two fields. */
interface Searched {
  readonly words: string
  readonly selector: string
}

interface SearchActions {
  readonly findWords: (words: string) => void
  readonly find: (selector: string) => void
}

export function searchBox({ words, selector }: Searched, { findWords, find }: SearchActions): TemplateResult {
  const submitting = (name: string, search: (text: string) => void) => (event: SubmitEvent) => {
    event.preventDefault()
    search(String(new FormData(event.target as HTMLFormElement).get(name)))
  }
  return html`
    <div class="search" role="search">
      <form @submit=${submitting('words', findWords)}>
        <label for="words">Contains</label>
        <input id="words" name="words" autocomplete="off" spellcheck="false" required .value=${words}>
        <button aria-label="Find these words">Find</button>
      </form>
      <form @submit=${submitting('selector', find)}>
        <label for="selector">Selector</label>
        <input id="selector" name="selector" class="exact" autocomplete="off" spellcheck="false" required .value=${selector}>
        <button>Find</button>
      </form>
      <details class="quiet">
        <summary>Selector syntax</summary>
        <p>“Contains” finds paths that contain every word, in upper or lower case: up to three words in any order, more in
          the order written. The selector it uses appears in the field below it.</p>
        <dl class="examples">
          ${examples.map(([example, meaning]) => html`<dt><button class="plain exact" @click=${() => find(example)}>${example}</button></dt><dd>${meaning}</dd>`)}
        </dl>
      </details>
    </div>
  `
}

const examples = [
  ['?.*//', 'every topic'],
  ['?.*/', 'every topic except those at the top'],
  ['a/b', 'only the topic a/b'],
  ['?a/b//', 'a/b and everything below it'],
  ['?a/.*/c', 'a/…/c with any one segment in between'],
  ['*.*temperature.*', 'every path that contains temperature'],
] as const
