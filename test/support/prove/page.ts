/** What `npm run prove` writes into docs/verification.md: the results of each proof that was run in full, and the table of mutants. */
import { mutants } from '../faults/mutants.js'
import { figuresOf, type Round } from './journal.js'
import { type Proof, proofs } from './proofs.js'

export const resultsPage = 'docs/verification.md'

const mutantsHeading = '| Planted fault | Found by |\n|---|---|\n'

/** Below it, each proof has a section of its own. */
const resultsHeading = '\n## Results\n'

/** The page with this proof's results in place of its earlier ones. They are in the order of the proofs. */
export function withResults(page: string, name: string, proof: Proof, rounds: readonly Round[]): string {
  const order = Object.keys(proofs)
  const [before, after] = around(page, resultsHeading)
  const end = after.indexOf('\n## ')
  const [introduction = '', ...old] = after.slice(0, end).split(/(?=\n### )/)
  const all = [...old.filter((section) => nameOf(section) !== name), sectionOf(name, proof, rounds)]
  all.sort((a, b) => order.indexOf(nameOf(a)) - order.indexOf(nameOf(b)))
  return before + resultsHeading + introduction + all.join('') + after.slice(end)
}

/** The page with the current list of mutants. */
export function withMutants(page: string): string {
  const [before, after] = around(page, mutantsHeading)
  const rows = mutants.map(({ fault, test }) => `| ${fault} | \`${test.replace('.long', '')}\` |\n`)
  return before + mutantsHeading + rows.join('') + after.replace(/^(\|.*\n)*/, '')
}

/** The page before and after a heading. */
function around(page: string, heading: string): [string, string] {
  const [before, after, ...others] = page.split(heading)
  if (before === undefined || after === undefined || others.length > 0)
    throw new Error(`${resultsPage} has lost the heading ${heading}`)
  return [before, after]
}

function nameOf(section: string): string {
  return /^\n### (.+)\n/.exec(section)?.[1] ?? ''
}

function sectionOf(name: string, { claim, summary }: Proof, rounds: readonly Round[]): string {
  const passed = rounds.filter((round) => round.passed)
  const failed = rounds.filter((round) => !round.passed)
  const each = (of: (round: Round) => string): string => [...new Set(rounds.map(of))].join('; ')
  const took = durationText(passed.reduce((sum, { seconds }) => sum + seconds, 0))
  const items = [
    ...summary(figuresOf(rounds)),
    ...failed.map(({ seed, forgiven }) => `**SEED=${seed} failed** (${forgiven})`),
    `${took}; ${each(({ revision, day }) => `${revision}, ${day}`)}; ${each(({ machine }) => machine)}`,
  ]
  return `\n### ${name}\n\n${claim.charAt(0).toUpperCase()}${claim.slice(1)}:\n\n${items.map((item) => `- ${item}\n`).join('')}`
}

/** Such as 14 min, or 2 h 5 min. */
export function durationText(seconds: number): string {
  const minutes = Math.round(seconds / 60)
  if (minutes < 1) return `${Math.round(seconds)} s`
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
