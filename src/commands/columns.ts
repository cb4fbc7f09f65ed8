/** Formats tables for people: cells in columns, two spaces apart. */

/** One line per row. @param charactersMax maximum width of a column; a longer cell is still shown whole */
export function aligned(rows: readonly (readonly string[])[], charactersMax = Infinity): string {
  const widths: number[] = []
  for (const row of rows) {
    for (const [column, { length }] of row.entries()) {
      widths[column] = Math.min(Math.max(widths[column] ?? 0, length), charactersMax)
    }
  }
  const line = (row: readonly string[]): string =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
  return rows.map((row) => `${line(row).trimEnd()}\n`).join('')
}
