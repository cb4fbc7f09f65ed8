/**
 * Splits JSON text into the text of each member or element, because JSON.parse loses digits, duplicate names and the
 * original notation. Handles one level at a time, in one pass, without recursion.
 *
 * Everything around the slices is checked. Their contents are not; JSON.parse checks them when it parses a slice.
 */

/** The text of each member of an object; if a name is repeated, the last wins. @throws SyntaxError if the text is not a JSON object */
export function membersOf(text: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>()
  eachPart(text, '{', '}', (at) => {
    const nameEnd = afterString(text, at)
    const start = skipSpace(text, after(text, skipSpace(text, nameEnd), ':'))
    const end = afterValue(text, start)
    members.set(JSON.parse(text.slice(at, nameEnd)) as string, text.slice(start, end))
    return end
  })
  return members
}

/** The text of each element of an array. @throws SyntaxError if the text is not a JSON array */
export function elementsOf(text: string): readonly string[] {
  const elements: string[] = []
  eachPart(text, '[', ']', (at) => {
    const end = afterValue(text, at)
    elements.push(text.slice(at, end))
    return end
  })
  return elements
}

/** @param part reads the part that starts at `at`, and returns the position after it */
function eachPart(text: string, open: string, close: string, part: (at: number) => number): void {
  let at = skipSpace(text, after(text, skipSpace(text, 0), open))
  if (text[at] !== close) {
    at = skipSpace(text, part(at))
    while (text[at] !== close) at = skipSpace(text, part(skipSpace(text, after(text, at, ','))))
  }
  const end = skipSpace(text, at + 1)
  if (end < text.length) throw unexpected(text, end)
}

/** The position after this character, which must be at `at`. */
function after(text: string, at: number, character: string): number {
  if (text[at] !== character) throw unexpected(text, at)
  return at + 1
}

function skipSpace(text: string, from: number): number {
  let at = from
  while (isSpace(text.charCodeAt(at))) at++
  return at
}

/** False for NaN, which `charCodeAt` returns past the end. */
function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

function afterString(text: string, at: number): number {
  for (let from = after(text, at, '"'); ; ) {
    const quote = text.indexOf('"', from)
    if (quote === -1) throw unexpected(text, text.length)
    let backslashes = quote
    while (text[backslashes - 1] === '\\') backslashes--
    if ((quote - backslashes) % 2 === 0) return quote + 1
    from = quote + 1
  }
}

function afterValue(text: string, at: number): number {
  const first = text[at]
  if (first === '"') return afterString(text, at)
  if (first === '{' || first === '[') return afterNested(text, at)
  let end = at
  while (end < text.length && !isSpace(text.charCodeAt(end)) && !',]}'.includes(text[end] as string)) end++
  if (end === at) throw unexpected(text, at)
  return end
}

/** Counts brackets outside of strings. */
function afterNested(text: string, from: number): number {
  let levels = 0
  for (let at = from; at < text.length; ) {
    switch (text[at]) {
      case '"':
        at = afterString(text, at)
        continue
      case '{':
      case '[':
        levels++
        break
      case '}':
      case ']':
        if (--levels === 0) return at + 1
    }
    at++
  }
  throw unexpected(text, text.length)
}

function unexpected(text: string, at: number): SyntaxError {
  const found = at < text.length ? `${JSON.stringify(text[at])} in` : 'end of'
  return new SyntaxError(`unexpected ${found} the JSON text at position ${at}`)
}
