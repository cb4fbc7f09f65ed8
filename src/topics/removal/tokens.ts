/**
 * The tokens of a REMOVAL expression: words, quoted texts and parentheses, separated by white space where needed. What
 * they mean is decided in parser.ts. Pure; reading all tokens takes time in proportion to the text's length.
 */

/** A text, read token by token: a batch can have 500,000 tokens, too many for an object or a string of each. */
export class RemovalText {
  readonly text: string
  /** Where the next token begins; the length of the text at its end. */
  #at: number

  constructor(text: string) {
    this.text = text
    this.#at = pastSpace(text, 0)
  }

  get at(): number {
    return this.#at
  }

  get isAtEnd(): boolean {
    return this.#at === this.text.length
  }

  get isAtWord(): boolean {
    return !this.isAtEnd && isInWord(this.text.charCodeAt(this.#at))
  }

  /** The index after the word that comes next; that of the next token if it is none. */
  get wordEnd(): number {
    let end = this.#at
    while (end < this.text.length && isInWord(this.text.charCodeAt(end))) end++
    return end
  }

  /** Moves past the token that ends at `end`. */
  moveTo(end: number): void {
    this.#at = pastSpace(this.text, end)
  }

  /** Whether a parenthesis comes next. */
  isAt(mark: '(' | ')'): boolean {
    return this.#at < this.text.length && this.text.charCodeAt(this.#at) === mark.charCodeAt(0)
  }

  /** Moves past a parenthesis if it comes next. */
  take(mark: '(' | ')'): boolean {
    if (!this.isAt(mark)) return false
    this.moveTo(this.#at + 1)
    return true
  }

  /** Moves past a word, given in lower case, if it comes next, in upper or lower case. */
  takeWord(word: string): boolean {
    const { text } = this
    const end = this.#at + word.length
    if (end > text.length) return false
    for (let i = 0; i < word.length; i++) {
      if ((text.charCodeAt(this.#at + i) | lowerCase) !== word.charCodeAt(i)) return false
    }
    if (end < text.length && isInWord(text.charCodeAt(end))) return false
    this.moveTo(end)
    return true
  }

  /** Reads the quoted text that comes next, from its quote to the next one of the same kind that is not escaped. */
  readQuoted(): Quoted | Broken | undefined {
    const { text } = this
    const quote = text.charCodeAt(this.#at)
    if (quote !== singleQuote && quote !== doubleQuote) return undefined
    let hasEscapes = false
    for (let i = this.#at + 1; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      if (unit === quote) {
        const quoted = text.slice(this.#at + 1, i)
        return { text: hasEscapes ? quoted.replace(/\\(.)/g, '$1') : quoted, end: i + 1 }
      }
      if (unit !== backslash) continue
      const escaped = text.charCodeAt(i + 1)
      if (escaped !== backslash && escaped !== singleQuote && escaped !== doubleQuote) {
        return {
          problem: 'within quotes, a backslash is written \\\\; \\ escapes only quotes and backslashes',
          start: i,
        }
      }
      hasEscapes = true
      i++
    }
    return { problem: 'the quote is not closed', start: this.#at }
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

const doubleQuote = 0x22
const singleQuote = 0x27
const backslash = 0x5c

/** The bit that upper case letters of ASCII lack. */
const lowerCase = 0x20

const inWord = 0
const isSpace = 1
const isMark = 2

/** What the units of ASCII are. */
const kinds = Uint8Array.from({ length: 0x80 }, (_, unit) => {
  const character = String.fromCharCode(unit)
  if (/\s/.test(character)) return isSpace
  return /[()'"]/.test(character) ? isMark : inWord
})

/** The rest of what \s matches. */
const wideSpaces: ReadonlySet<number> = new Set(
  Array.from('\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff', (space) => space.charCodeAt(0)),
)

function kindOf(unit: number): number {
  if (unit < 0x80) return kinds[unit] as number
  return (unit >= 0x2000 && unit <= 0x200a) || wideSpaces.has(unit) ? isSpace : inWord
}

function isInWord(unit: number): boolean {
  return kindOf(unit) === inWord
}

/** The index of the first character from `at` on that is not white space. */
function pastSpace(text: string, at: number): number {
  let end = at
  while (end < text.length && kindOf(text.charCodeAt(end)) === isSpace) end++
  return end
}
