/** The tokens of a REMOVAL expression: words, quoted texts, parentheses. parser.ts has their meaning. Linear time. */

/** Sticky: each match begins at `lastIndex`. */
const space = /\s*/y
const word = /[^\s()'"]*/y
/** A quote and its contents, up to the closing one or to a backslash that escapes nothing. */
const quotes = {
  "'": /'[^'\\]*(?:\\[\\'"][^'\\]*)*/y,
  '"': /"[^"\\]*(?:\\[\\'"][^"\\]*)*/y,
}

const words = ['when', 'and', 'or', 'remove', 'time', 'after', 'no', 'updates', 'for'] as const
type Word = (typeof words)[number]

/** A word in upper or lower case, and the white space behind it. */
const takenWords = Object.fromEntries(
  words.map((text) => [text, new RegExp(`${text}(?![^\\s()'"])\\s*`, 'iy')]),
) as Readonly<Record<Word, RegExp>>

/** A text, read token by token: a batch can have 500,000 tokens, too many for an object or a string of each. */
export class RemovalText {
  /** Where the next token begins; the length of the text at its end. */
  #at = 0

  constructor(readonly text: string) {
    this.moveTo(0)
  }

  get at(): number {
    return this.#at
  }

  get isAtEnd(): boolean {
    return this.#at === this.text.length
  }

  get isAtWord(): boolean {
    return this.wordEnd > this.#at
  }

  /** The index after the next word; that of the next token if it is no word. */
  get wordEnd(): number {
    return this.#endOf(word, this.#at)
  }

  /** Moves past the token that ends at `end`. */
  moveTo(end: number): void {
    this.#at = this.#endOf(space, end)
  }

  isAt(mark: '(' | ')'): boolean {
    return this.text[this.#at] === mark
  }

  take(mark: '(' | ')'): boolean {
    if (!this.isAt(mark)) return false
    this.moveTo(this.#at + 1)
    return true
  }

  /** Ignores case. */
  takeWord(wanted: Word): boolean {
    const end = this.#endOf(takenWords[wanted], this.#at)
    if (end === 0) return false
    this.#at = end
    return true
  }

  /** Reads the quoted text that comes next, from its quote to the next one of the same kind that is not escaped. */
  readQuoted(): Quoted | Broken | undefined {
    const { text } = this
    const mark = text[this.#at]
    if (mark !== "'" && mark !== '"') return undefined
    const end = this.#endOf(quotes[mark], this.#at)
    if (text[end] === mark) {
      const quoted = text.slice(this.#at + 1, end)
      return { text: quoted.includes('\\') ? quoted.replace(/\\(.)/g, '$1') : quoted, end: end + 1 }
    }
    return end === text.length
      ? { problem: 'the quote is not closed', start: this.#at }
      : { problem: 'within quotes, a backslash is written \\\\; \\ escapes only quotes and backslashes', start: end }
  }

  /** The index after the expression's match at `start`; 0 without a match. */
  #endOf(expression: RegExp, start: number): number {
    expression.lastIndex = start
    expression.test(this.text)
    return expression.lastIndex
  }
}

/** A quoted text without its quotes and escapes, and the index after it. */
interface Quoted {
  readonly text: string
  readonly end: number
  readonly problem?: undefined
  readonly start?: undefined
}

/** Why a quoted text cannot be read, so that no later token can be found, and where the error is. */
interface Broken {
  readonly problem: string
  readonly start: number
  readonly text?: undefined
  readonly end?: undefined
}
