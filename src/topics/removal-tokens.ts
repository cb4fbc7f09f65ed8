/**
 * The tokens of a REMOVAL expression: words, quoted texts and parentheses, separated by white space where needed. What
 * they mean is decided in parse-removal.ts. Pure; reading all tokens takes time in proportion to the text's length.
 */

export interface Token {
  /** `broken`: a quoted text that cannot be read, so that no later token can be found. */
  readonly kind: 'word' | 'quoted' | 'open' | 'close' | 'end' | 'broken'
  /** A word as written, a quoted text without its quotes and escapes, or what is wrong with a broken token. */
  readonly text: string
  /** The index of the token, or of the error in a broken one. */
  readonly start: number
  /** Where the next token may begin. */
  readonly end: number
}

const tokenForm = /\s*(?:([()'"])|([^\s()'"]+))?/y

/** The first token at or after `position`; at the end of the text, an `end` token. */
export function readToken(text: string, position: number): Token {
  tokenForm.lastIndex = position
  const [matched = '', mark, word] = tokenForm.exec(text) ?? []
  const end = position + matched.length
  if (word !== undefined) return { kind: 'word', text: word, start: end - word.length, end }
  switch (mark) {
    case undefined:
      return { kind: 'end', text: '', start: end, end }
    case '(':
      return { kind: 'open', text: mark, start: end - 1, end }
    case ')':
      return { kind: 'close', text: mark, start: end - 1, end }
    default:
      return readQuoted(text, end - 1)
  }
}

/** Reads from an opening quote to the next quote of the same kind that is not escaped. */
function readQuoted(text: string, start: number): Token {
  const quote = text[start]
  let value = ''
  let from = start + 1
  for (let i = from; i < text.length; i++) {
    if (text[i] === quote) return { kind: 'quoted', text: value + text.slice(from, i), start, end: i + 1 }
    if (text[i] !== '\\') continue
    const escaped = text[i + 1]
    if (escaped !== '\\' && escaped !== '"' && escaped !== "'") {
      return broken(i, 'within quotes, a backslash is written \\\\; \\ escapes only quotes and backslashes')
    }
    value += text.slice(from, i)
    from = i + 1
    i++
  }
  return broken(start, 'the quote is not closed')
}

function broken(start: number, problem: string): Token {
  return { kind: 'broken', text: problem, start, end: start }
}
