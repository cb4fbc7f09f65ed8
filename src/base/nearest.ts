/** Suggestions for mistyped words. Pure: the caller passes the known words. */

/** A word with one typo per this many letters is still recognisable. */
const lettersPerMistake = 3

/** The known word that is the fewest corrections away; undefined if no word is close enough. */
export function nearest(typed: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((word) => ({ word, mistakes: distance(typed, word) }))
    .sort((a, b) => a.mistakes - b.mistakes)
  return best !== undefined && best.mistakes <= Math.ceil(typed.length / lettersPerMistake) ? best.word : undefined
}

/** `; did you mean "x"?`, or an empty string if no known word is close enough. */
export function suggestion(typed: string, known: readonly string[]): string {
  const word = nearest(typed, known)
  return word === undefined ? '' : `; did you mean ${word.startsWith('-') ? word : JSON.stringify(word)}?`
}

/** The number of letters to add, remove, replace or swap with a neighbour (optimal string alignment). */
function distance(a: string, b: string): number {
  const rows: number[][] = []
  const cost = (i: number, j: number): number => rows[i]?.[j] ?? Infinity
  for (let i = 0; i <= a.length; i++) {
    const row: number[] = []
    rows.push(row)
    for (let j = 0; j <= b.length; j++) {
      const replaced = cost(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwap ? cost(i - 2, j - 2) + 1 : Infinity
      row.push(i === 0 && j === 0 ? 0 : Math.min(cost(i - 1, j) + 1, cost(i, j - 1) + 1, replaced, swapped))
    }
  }
  return cost(a.length, b.length)
}
