/** The tables of docs/guarantees.md: one row for each proof that has been run in full, and one for each mutant. */
import { mutants } from '../faults/mutants.js'
import { figuresOf, type Round } from './journal.js'
import { type Proof, proofs } from './proofs.js'

export const tablePage = 'docs/guarantees.md'

const mutantsHeading = '| Planted fault | Found by |\n|---|---|\n'

const heading = '| Proof | What it shows | How long | Figures | Revision | Machine |\n|---|---|---|---|---|---|\n'

/** The page with this proof's row in place of its earlier one. Rows are in the order of the proofs. */
export function withRow(page: string, name: string, proof: Proof, rounds: readonly Round[]): string {
  const order = Object.keys(proofs)
  return withRows(page, heading, (old) =>
    [...old.filter((row) => nameOf(row) !== name), rowOf(name, proof, rounds)].sort(
      (a, b) => order.indexOf(nameOf(a)) - order.indexOf(nameOf(b)),
    ),
  )
}

/** The page with the current list of mutants. */
export function withMutants(page: string): string {
  return withRows(page, mutantsHeading, () =>
    mutants.map(({ fault, test }) => `| ${fault} | \`${test.replace('.long', '')}\` |`),
  )
}

/** The page with other rows below a heading of a table. */
function withRows(page: string, heading: string, change: (old: readonly string[]) => readonly string[]): string {
  const from = page.indexOf(heading)
  if (from < 0) throw new Error(`${tablePage} has lost the heading ${heading}`)
  const begin = from + heading.length
  const old = /^(\|.*\n)*/.exec(page.slice(begin))?.[0] ?? ''
  const rows = change(old.split('\n').slice(0, -1))
  return page.slice(0, begin) + rows.map((row) => `${row}\n`).join('') + page.slice(begin + old.length)
}

function nameOf(row: string): string {
  return /^\| `([\w-]+)` /.exec(row)?.[1] ?? ''
}

function rowOf(name: string, { claim, summary }: Proof, rounds: readonly Round[]): string {
  const passed = rounds.filter((round) => round.passed)
  const failed = rounds.filter((round) => !round.passed)
  const failures = failed.map(({ seed, forgiven }) => `**SEED=${seed} failed** (${forgiven})`)
  const each = (of: (round: Round) => string): string => [...new Set(rounds.map(of))].join('; ')
  const cells = [
    `\`${name}\``,
    claim,
    durationText(passed.reduce((sum, { seconds }) => sum + seconds, 0)),
    [summary(figuresOf(rounds)), ...failures].join('; '),
    each(({ revision, day }) => `${revision}, ${day}`),
    each(({ machine }) => machine),
  ]
  return `| ${cells.join(' | ')} |`
}

/** Such as 14 min, or 2 h 5 min. */
export function durationText(seconds: number): string {
  const minutes = Math.round(seconds / 60)
  if (minutes < 1) return `${Math.round(seconds)} s`
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
