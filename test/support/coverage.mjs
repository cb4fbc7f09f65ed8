/**
 * Fails if the coverage of tap's last run is below these thresholds, so that coverage does not fall. tap itself can require only full
 * coverage or none. It runs the quick files and the `.long` ones, which do not measure time (package.json).
 */
import { readFileSync } from 'node:fs'

/** Percent of src/, including workers; slightly less than a run reaches, because runs vary in the lines they reach. */
const thresholds = { statements: 92, branches: 87, functions: 92, lines: 92 }

const files = JSON.parse(readFileSync('.tap/report/coverage-summary.json', 'utf8'))
const source = Object.entries(files).filter(([file]) => file.includes('/src/'))

/** The percentage over all files of src/. */
function percentOf(measure) {
  let total = 0
  let covered = 0
  for (const [, figures] of source) {
    total += figures[measure].total
    covered += figures[measure].covered
  }
  return (100 * covered) / total
}

let low = false
for (const [measure, percentMin] of Object.entries(thresholds)) {
  const percent = percentOf(measure)
  if (percent >= percentMin) continue
  low = true
  console.error(`coverage of ${measure} is ${percent.toFixed(2)} %, less than ${percentMin} %`)
}
process.exitCode = low ? 1 : 0
