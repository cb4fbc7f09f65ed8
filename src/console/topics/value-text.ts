/** Values as a person reads them: every character of a JSON text is kept; only the space between tokens is added. */

const indentation = '  '

/**
 * A JSON text with one member or element a line. Digits, escapes, order and repeated names stay as they are; empty
 * objects and arrays stay on one line.
 *
 * @param text valid JSON
 */
export function formatted(text: string): string {
  const pieces: string[] = []
  let level = 0
  const newLine = (): void => void pieces.push('\n', indentation.repeat(level))
  // A string, a mark, or anything else up to the next of them; space between tokens is matched and dropped.
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/g)) {
    const before = pieces.at(-1)
    if (token === '{' || token === '[') {
      pieces.push(token)
      level++
      newLine()
    } else if (token === '}' || token === ']') {
      level--
      if (before === indentation.repeat(level + 1) && isOpening(pieces.at(-3))) pieces.splice(-2)
      else newLine()
      pieces.push(token)
    } else if (token === ',') {
      pieces.push(token)
      newLine()
    } else pieces.push(token === ':' ? ': ' : token)
  }
  return pieces.join('')
}

function isOpening(piece: string | undefined): boolean {
  return piece === '{' || piece === '['
}

/** The beginning of a text, with a mark where something is left out. */
export function shortened(text: string, charactersMax: number): string {
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax)}…`
}

/** A size for a person. */
export function sizeText(text: string): string {
  const bytes = new TextEncoder().encode(text).length
  return bytes < 10_000 ? `${bytes} bytes` : `${(bytes / 1000).toFixed(1)} kB`
}
