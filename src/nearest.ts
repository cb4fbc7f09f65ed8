/** The word that somebody who mistyped probably meant. */

/** So many mistakes in a word of this many letters still leave it recognisable. */
const lettersPerMistake = 3

/** The known word that takes the fewest corrections to reach; undefined when none is near. */
export function nearest(typed: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((word) => ({ word, mistakes: distance(typed, word) }))
    .sort((a, b) => a.mistakes - b.mistakes)
  const best = ranked[0]
  return best !== undefined && best.mistakes <= Math.ceil(typed.length / lettersPerMistake) ? best.word : undefined
}

/** `; did you mean "x"?`, or nothing when no known word is near. */
export function suggestion(typed: string, known: readonly string[]): string {
  const word = nearest(typed, known)
  return word === undefined ? '' : `; did you mean ${word.startsWith('-') ? word : JSON.stringify(word)}?`
}

/** Letters to add, remove, replace or exchange with their neighbour (optimal string alignment). */
function distance(a: string, b: string): number {
  const rows = Array.from({ length: a.length + 1 }, (_, i) => [i])
  for (let j = 1; j <= b.length; j++) rows[0][j] = j
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const replaced = rows[i - 1][j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)
      rows[i][j] = Math.min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, replaced)
      const areExchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (areExchanged) rows[i][j] = Math.min(rows[i][j], rows[i - 2][j - 2] + 1)
    }
  }
  return rows[a.length][b.length]
}
