/**
 * Every planted fault has its place in the built program, and its test exists: a change of the source that moves a place
 * is noticed at once, not when that fault is next picked (mutants.long).
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { mutants, withFault } from '../support/faults/mutants.js'

const root = join(import.meta.dirname, '../..')

for (const mutant of mutants) {
  t.test(mutant.fault, (t) => {
    const text = readFileSync(join(root, 'dist', mutant.file), 'utf8')
    t.doesNotThrow(() => withFault(mutant, text), 'its place is there exactly once')
    t.ok(existsSync(join(root, 'dist-test', `${mutant.test}.test.js`)), `${mutant.test} exists`)
    t.end()
  })
}
