/** Texts as a person reads and writes them: of a value every character is kept but the space between its tokens. */
import { type Item, type JsonText, jsonText } from '../../client/index.js'
import { formatWhole } from '../shared/formats.js'

const indentation = '  '

/** Larger values are not formatted, nor edited without a question: a browser needs seconds to lay them out. */
export const formattedFromMax = 200_000

/** Nor are those that would become larger than this, since each level indents every line below it. */
const formattedToMax = 1_000_000

/** Of a larger value only the beginning is shown until someone asks for all of it. */
export const shownMax = 20_000

type ValueText = Pick<Item, 'text'>

const known = new WeakMap<ValueText, string | undefined>()

/** Formatted once; undefined if that would be too large, or there is no value. */
export function formattedOf(item: ValueText): string | undefined {
  if (!known.has(item)) known.set(item, item.text === undefined ? undefined : formatted(item.text))
  return known.get(item)
}

/** A member or element a line. Digits, escapes, order, repeated names stay as they are. Undefined if too large. */
function formatted(text: string): string | undefined {
  if (text.length > formattedFromMax) return undefined
  const pieces: string[] = []
  let level = 0
  let length = 0
  const newLine = (): string => {
    length += indentation.length * level
    return length > formattedToMax ? '' : `\n${indentation.repeat(level)}`
  }
  // A string, something empty, a mark, or anything else up to the next of them; space between tokens is dropped.
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

/** As it is edited: plain text for a string, else its JSON text with a line for each member. */
export function editableOf(item: Pick<Item, 'type' | 'text' | 'value'>): string {
  if (item.type === 'string') return typeof item.value === 'string' ? item.value : ''
  return formattedOf(item) ?? item.text ?? ''
}

/** Fields know line feeds alone: a text whose lines all ended otherwise ends them as before. */
export function withLineEnds(text: string, before: string): string {
  const isOther = /\r\n/.test(before) && !/(^|[^\r])\n/.test(before)
  return before.replaceAll(/\r\n?/g, '\n') === text ? before : isOther ? text.replaceAll('\n', '\r\n') : text
}

/** What an edited text stands for; white space between the tokens is not stored. @throws SyntaxError for what is not JSON */
export function valueIn(type: Item['type'], text: string): string | JsonText {
  if (type === 'string') return text
  jsonText(text)
  return jsonText(text.replace(/("[^"\\]*(?:\\.[^"\\]*)*")|\s+/g, '$1'))
}

/** Controls, marks of text direction, and characters that look like a space or like nothing, but are not U+0020. */
const unseen = /(?!\u200c|\u200d| )(?:[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\u115f\u1160\u2800\u3164\uffa0]|\u034f)/gu

/** Names invisible characters, and spaces at the ends of segments. Joiners stay: scripts and emoji need them. */
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

/** The last text: a large one is drawn often. */
let sized = { text: '', bytes: 0 }
