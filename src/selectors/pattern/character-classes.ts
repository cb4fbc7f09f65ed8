/** Character classes as sorted, disjoint ranges of code points. Pure arithmetic: independent of syntax and engines. */

/** The first and the last code point, both included. */
export type CodePointRange = readonly [first: number, last: number]

/** Sorted and disjoint. */
export type Ranges = readonly CodePointRange[]

export const codePointMax = 0x10ffff

const digits: Ranges = [[0x30, 0x39]]
const words: Ranges = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
]
const spaces: Ranges = [
  [0x09, 0x0a],
  [0x0c, 0x0d],
  [0x20, 0x20],
]

/** `\d` and the like in RE2: ASCII only, and no vertical tab in `\s`; the built-in engine differs in both. */
export const perlClasses: ReadonlyMap<string, Ranges> = new Map([
  ['d', digits],
  ['D', complement(digits)],
  ['s', spaces],
  ['S', complement(spaces)],
  ['w', words],
  ['W', complement(words)],
])

/** Sorts ranges and merges overlapping and adjacent ones. */
export function sortedRanges(ranges: readonly CodePointRange[]): Ranges {
  const merged: CodePointRange[] = []
  let current: CodePointRange | undefined
  for (const range of ranges.toSorted((a, b) => a[0] - b[0])) {
    if (current === undefined) current = range
    else if (current[1] + 1 < range[0]) {
      merged.push(current)
      current = range
    } else if (current[1] < range[1]) current = [current[0], range[1]]
  }
  return current === undefined ? merged : [...merged, current]
}

export function complement(ranges: Ranges): Ranges {
  const rest: CodePointRange[] = []
  let next = 0
  for (const [first, last] of ranges) {
    if (first > next) rest.push([next, first - 1])
    next = last + 1
  }
  if (next <= codePointMax) rest.push([next, codePointMax])
  return rest
}
