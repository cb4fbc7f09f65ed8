/**
 * Random selectors of every kind, built from patterns that are also valid in JavaScript, and paths of a few names, so that some of them
 * match. model.ts decides whether a selector matches.
 */
import type { Random } from '../random.js'

const pieces = [
  ...['a', 'b', '\\+', '\\.', '-', 'é', '.', '.*', '.+', '[ab]', '[^a]', '[+-.]+', 'a?', 'b{2}', 'a{1,2}', '\\w'],
  ...['(a|b)', '(?:a|ab|é.*)', '(?i:A)', '\\Q+.\\E', '(😀|\ue000)'],
]
const wholePathPieces = [...pieces, '/', '/', '/.*', 'a/b', '|b']
const names = [...'a b aa ab ba bb + . - ! é a+ a. a-b éa +. A 😀 \ue000'.split(' '), '\n']

/** Between one and `countMax` strings. */
function some(random: Random, countMax: number, next: () => string): string[] {
  return Array.from({ length: 1 + random.below(countMax) }, next)
}

/** A path of a few segments, occasionally of many. */
export function randomPath(random: Random): string {
  return some(random, random.oneIn(20) ? 12 : 4, () => random.pick(names)).join('/')
}

/** A selector of any kind; a member of a set is not a set itself. */
export function randomSelector(random: Random, inSet = false): string {
  const qualifier = random.pick(['', '/', '//'])
  switch (random.below(inSet ? 5 : 6)) {
    case 0:
      return `>${some(random, 3, () => random.pick(names)).join('/')}`
    case 1:
    case 2: {
      const segment = (): string => {
        const common = random.pick(['.*', '(a|b|é)', '', ''])
        return common === '' ? some(random, 2, () => random.pick(pieces)).join('') : common
      }
      return `?${some(random, 4, segment).join('/')}${qualifier}`
    }
    case 3:
    case 4: {
      const pattern = some(random, 5, () => random.pick(wholePathPieces)).join('')
      // Runs of slashes would be separators or qualifiers.
      return `*${pattern.replace(/\/+$/, '').replace(/\/{2,}/g, '/') || 'a'}${qualifier}`
    }
    default:
      return `#${some(random, 4, () => randomSelector(random, true)).join('////')}`
  }
}
