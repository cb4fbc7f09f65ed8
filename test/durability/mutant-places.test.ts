/**
 * Every planted fault has its place in the built program, its test, and its row in docs/maintainers/verification.md. A change of the source
 * that moves a place is noticed immediately, not when durability/mutants next picks that fault.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readDocument, root, sectionOf } from '../support/documents.js'
import { mutants, withFault } from '../support/faults/mutants.js'
import { testsOf } from '../support/test-files.js'

t.test('the table of planted faults has a row for each fault, in order', (t) => {
  const rows = sectionOf(readDocument('docs/maintainers/verification.md'), 'planted-faults').match(/^\| .* `.*$/gm)
  t.strictSame(
    rows,
    mutants.map(({ fault, test }) => `| ${fault} | \`${test}\` |`),
  )
  t.end()
})

for (const mutant of mutants) {
  t.test(mutant.fault, (t) => {
    const text = readFileSync(join(root, 'dist', mutant.file), 'utf8')
    t.doesNotThrow(() => withFault(mutant, text), 'the place exists exactly once')
    t.equal(testsOf(mutant.test).length, 1, `${mutant.test} exists`)
    t.end()
  })
}
