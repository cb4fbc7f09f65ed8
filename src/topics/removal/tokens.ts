/**
 * The tokens of a REMOVAL expression: words, quoted texts and parentheses, separated by white space where needed. What
 * they mean is decided in parser.ts. Pure; reading all tokens takes time in proportion to the text's length, which is bounded: V8's
 * stack would not suffice for a quoted text of some megabytes.
 */

const space = /\s*/y
const token = /([()])|([^\s()'"]+)|'((?:[^'\\]|\\[\\'"])*)'|"((?:[^"\\]|\\[\\'"])*)"/y

/** A quoted text, as far as it can be read. */
const openQuote = /(['"])(?:(?!\1)[^\\]|\\[\\'"])*/y

/** A text, read token by token. */
export class RemovalText {
  /** Where the next token begins; the length of the text at its end. */
  at = 0
  /** The next token is one of these; none of them at the end, or where a quoted text cannot be read. */
  mark: string | undefined
  word: string | undefined
  /** Without its quotes and escapes. */
  quoted: string | undefined
  #end = 0

  constructor(readonly text: string) {
    this.next()
  }

  get isAtEnd(): boolean {
    return this.at === this.text.length
  }

  /** Moves past the token. */
  next(): void {
    space.lastIndex = this.#end
    space.test(this.text)
    this.at = token.lastIndex = space.lastIndex
    const [all = '', mark, word, single, double] = token.exec(this.text) ?? []
    this.#end = this.at + all.length
    this.mark = mark
    this.word = word
    this.quoted = (single ?? double)?.replace(/\\(.)/g, '$1')
  }

  /** Moves past a parenthesis if it comes next. */
  take(mark: '(' | ')'): boolean {
    const isNext = this.mark === mark
    if (isNext) this.next()
    return isNext
  }

  /** Moves past a word, given in lower case, if it comes next, in upper or lower case. */
  takeWord(word: string): boolean {
    const isNext = this.word?.toLowerCase() === word
    if (isNext) this.next()
    return isNext
  }

  /** Why the quoted text that comes next cannot be read, and where the error is; undefined if none comes, or it can. */
  brokenQuote(): { readonly problem: string; readonly start: number } | undefined {
    openQuote.lastIndex = this.at
    if (this.quoted !== undefined || !openQuote.test(this.text)) return undefined
    const start = openQuote.lastIndex
    if (this.text[start] !== '\\') return { problem: 'the quote is not closed', start: this.at }
    return { problem: 'within quotes, a backslash is written \\\\; \\ escapes only quotes and backslashes', start }
  }
}
