/**
 * Holds the coverage of the last test run to what has been reached, so that it can only rise. tap itself knows full
 * coverage or none.
 */
import { readFileSync } from 'node:fs'

/** Percent of src/, workers included; a little under what a run reaches, since which lines a crash test meets is chance. */
const thresholds = { statements: 92, branches: 87, functions: 92, lines: 92 }

const { total } = JSON.parse(readFileSync('.tap/report/coverage-summary.json', 'utf8'))
let low = false
for (const [what, least] of Object.entries(thresholds)) {
  const { pct } = total[what]
  if (pct >= least) continue
  low = true
  console.error(`coverage of ${what} is ${pct} %, less than ${least} %`)
}
process.exitCode = low ? 1 : 0
