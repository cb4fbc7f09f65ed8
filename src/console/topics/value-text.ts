/** Values as a person reads and writes them. Every character of a value is kept, except white space between tokens. */
import { type Item, type JsonText, jsonText } from '../../client/index.js'
import { formatWhole } from '../shared/formats.js'

const indentation = '  '

/** Larger values are not formatted, and editing them requires confirmation: a browser needs seconds to lay them out. */
export const formattedFromMax = 200_000

/** Values whose indentation would exceed this stay unformatted: deep nesting adds much of it. */
const formattedToMax = 1_000_000

/** Only the start of a larger value is shown, unless the user requests all of it. */
export const shownMax = 20_000

type ValueText = Pick<Item, 'text'>

const known = new WeakMap<ValueText, string | undefined>()

/** The formatted value, which is cached; undefined if it would be too large, or if there is no value. */
export function formattedOf(item: ValueText): string | undefined {
  if (!known.has(item)) known.set(item, item.text === undefined ? undefined : formatted(item.text))
  return known.get(item)
}

/** One member or element per line. Digits, escapes, order and repeated names are preserved. Undefined if too large. */
function formatted(text: string): string | undefined {
  if (text.length > formattedFromMax) return undefined
  const pieces: string[] = []
  let level = 0
  let length = 0
  const newLine = (): string => {
    length += indentation.length * level
    return length > formattedToMax ? '' : `\n${indentation.repeat(level)}`
  }
  // A string, an empty object or array, a mark, or a literal; white space between tokens is dropped.
  for (const [token] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|\{\s*\}|\[\s*\]|[{}[\],:]|[^\s"{}[\],:]+/g)) {
    if (token === '}' || token === ']') level--
    if (token === '{' || token === '[') level++
    if ('{[,'.includes(token)) pieces.push(token, newLine())
    else if ('}]'.includes(token)) pieces.push(newLine(), token)
    else if (token === ':') pieces.push(': ')
    else pieces.push(/^[{[]/.test(token) ? token.replace(/\s+/, '') : token)
    if (length > formattedToMax) return undefined
  }
  return pieces.join('')
}

/** The text to edit: plain text for a string, otherwise formatted JSON. */
export function editableOf(item: Pick<Item, 'type' | 'text' | 'value'>): string {
  if (item.type === 'string') return typeof item.value === 'string' ? item.value : ''
  return formattedOf(item) ?? item.text ?? ''
}

/** Restores CRLF line ends if all lines had them before, because text fields return only line feeds. */
export function withLineEnds(text: string, before: string): string {
  const isOther = /\r\n/.test(before) && !/(^|[^\r])\n/.test(before)
  return before.replaceAll(/\r\n?/g, '\n') === text ? before : isOther ? text.replaceAll('\n', '\r\n') : text
}

/** The value that the edited text describes; white space between tokens is dropped. @throws SyntaxError if the text is not JSON */
export function valueIn(type: Item['type'], text: string): string | JsonText {
  if (type === 'string') return text
  jsonText(text)
  return jsonText(text.replace(/("[^"\\]*(?:\\.[^"\\]*)*")|\s+/g, '$1'))
}

/** Control characters, text direction marks, and characters other than U+0020 that look like a space or are invisible. */
const unseen = /(?!\u200c|\u200d| )(?:[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\u115f\u1160\u2800\u3164\uffa0]|\u034f)/gu

/** Makes invisible characters, and spaces at the ends of segments, visible. Keeps joiners, which scripts and emoji need. */
export function visible(text: string): string {
  return text
    .replace(unseen, (character) => {
      const code = (character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')
      return `⟨U+${code}⟩`
    })
    .replace(/(?<=^|\/) +| +(?=$|\/)/g, (spaces) => '␣'.repeat(spaces.length))
}

export function shortened(text: string, charactersMax: number): string {
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax)}…`
}

export function topicsText(count: number): string {
  return count === 1 ? '1 topic' : `${formatWhole(count)} topics`
}

export function sizeText(text: string): string {
  if (sized.text !== text) sized = { text, bytes: new TextEncoder().encode(text).length }
  const { bytes } = sized
  if (bytes === 1) return '1 byte'
  return bytes < 10_000 ? `${bytes} bytes` : `${(bytes / 1000).toFixed(1)} kB`
}

/** Caches the size of the last text, because large text is drawn often. */
let sized = { text: '', bytes: 0 }
