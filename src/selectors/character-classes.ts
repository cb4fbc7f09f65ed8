/**
 * Character classes as sorted, disjoint pairs of code points, both ends included. Pure arithmetic; no syntax, no engine.
 */

/** Sorted, disjoint pairs of code points, both ends included. */
export type Ranges = readonly number[]

export const codePointMax = 0x10ffff

const digits: Ranges = [0x30, 0x39]
const words: Ranges = [0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a]
const spaces: Ranges = [0x09, 0x0a, 0x0c, 0x0d, 0x20, 0x20]

/** What `\d` and its kin mean to RE2: ASCII only, and no vertical tab in `\s`; the built-in engine differs there. */
export const perlClasses: Readonly<Record<string, Ranges>> = {
  d: digits,
  D: complement(digits),
  s: spaces,
  S: complement(spaces),
  w: words,
  W: complement(words),
}

/** Pairs in any order, sorted, with overlapping and adjacent ones made one. */
export function sortedRanges(pairs: readonly number[]): Ranges {
  const ranges: [number, number][] = []
  for (let i = 0; i < pairs.length; i += 2) ranges.push([pairs[i], pairs[i + 1]])
  ranges.sort((a, b) => a[0] - b[0])
  const merged: number[] = []
  for (const [low, high] of ranges) {
    const last = merged.length - 1
    if (last < 0 || merged[last] + 1 < low) merged.push(low, high)
    else if (merged[last] < high) merged[last] = high
  }
  return merged
}

/** Every code point that is in none of the ranges. */
export function complement(ranges: Ranges): Ranges {
  const rest: number[] = []
  let next = 0
  for (let i = 0; i < ranges.length; i += 2) {
    if (ranges[i] > next) rest.push(next, ranges[i] - 1)
    next = ranges[i + 1] + 1
  }
  if (next <= codePointMax) rest.push(next, codePointMax)
  return rest
}
