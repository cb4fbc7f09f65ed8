/** A search by plain words, translated into a selector for every path that contains them. Pure. */
import { quoted } from '../../../client/selectors.js'

/** With more words, all possible orders would exceed the limit for a selector's patterns. */
const inAnyOrderMax = 3

/**
 * Matches up to three words in any order, more words only in the given order. Ignores case. Undefined if there are no words.
 *
 * @param below limits the search to topics below this path; empty for all topics
 */
export function selectorOfWords(text: string, below = ''): string | undefined {
  const words = distinct(text.split(/\s+/).filter((word) => word !== '')).map(quoted)
  if (words.length === 0) return undefined
  const orders = words.length <= inAnyOrderMax ? ordersOf(words) : [words]
  const patterns = orders.map((order) => order.join('.*'))
  const within = below === '' ? '' : `${quoted(below)}/`
  return `*${within}(?i).*${patterns.length === 1 ? patterns[0] : `(${patterns.join('|')})`}.*`
}

/** Drops words that are part of another word, so that a path need not contain them twice. */
function distinct(words: readonly string[]): readonly string[] {
  const folded = words.map((word) => word.toLowerCase())
  const isWithin = (word: string, index: number) => (other: string, at: number) =>
    at !== index && other.includes(word) && (other !== word || at < index)
  return words.filter((_, index) => !folded.some(isWithin(folded[index] ?? '', index)))
}

function ordersOf(words: readonly string[]): readonly (readonly string[])[] {
  if (words.length < 2) return [words]
  return words.flatMap((first, index) => ordersOf(words.toSpliced(index, 1)).map((rest) => [first, ...rest]))
}
