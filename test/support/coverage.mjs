/**
 * Holds the coverage of the last test run to what has been reached, so that it can only rise. tap itself knows full
 * coverage or none.
 */
import { readFileSync } from 'node:fs'

/** Percent of src/, workers included; a little under what a run reaches, since which lines a crash test meets is chance. */
const thresholds = { statements: 92, branches: 87, functions: 92, lines: 92 }

const files = JSON.parse(readFileSync('.tap/report/coverage-summary.json', 'utf8'))
const source = Object.entries(files).filter(([file]) => file.includes('/src/'))

/** Percent over all files of src/. */
function reached(what) {
  let total = 0
  let covered = 0
  for (const [, figures] of source) {
    total += figures[what].total
    covered += figures[what].covered
  }
  return (100 * covered) / total
}

let low = false
for (const [what, least] of Object.entries(thresholds)) {
  const percent = reached(what)
  if (percent >= least) continue
  low = true
  console.error(`coverage of ${what} is ${percent.toFixed(2)} %, less than ${least} %`)
}
process.exitCode = low ? 1 : 0
