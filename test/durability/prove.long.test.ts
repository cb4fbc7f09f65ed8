/** How `npm run prove` runs rounds, and the row that it writes. The proofs themselves are the long tests. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readDocument } from '../support/documents.js'
import { proofs, resultsPage, runRound, withRow } from '../support/prove.js'

/** A round of a test that consists of this script; tap's own output is written by hand. */
function roundOf(t: Test, script: string): ReturnType<typeof runRound> {
  const file = join(t.testdir(), 'a.test.js')
  writeFileSync(file, script)
  return runRound([file], 'kills', { LEFT: '3' }, 60)
}

const passing = `console.log('# FIGURES {"kills":' + process.env.LEFT + '}\\n# { total: 1, pass: 1 }')`

t.test('a round passes only if its test did, skipped nothing and counted something', async (t) => {
  t.strictSame((await roundOf(t, passing)).results, { kills: 3 })
  for (const script of [
    passing.replace('kills', 'other'),
    passing.replace('# {', 'ok 1 - a # SKIP no disk\\n# {'),
    `${passing}; process.exitCode = 1`,
  ])
    t.equal((await roundOf(t, script)).results, undefined, script.replaceAll('#', ''))
})

t.test('a row is appended to the table of results, and nothing else changes', (t) => {
  const page = readDocument(resultsPage)
  const [before = '', after = '', ...others] = withRow(page, ['kills', 'passed']).split('| kills | passed |\n')
  t.equal(before + after, page)
  t.match(after, /^\n## /, 'below the last row')
  t.strictSame(others, [])
  t.end()
})

t.test('the proofs that the page names exist, and each has its claim', (t) => {
  const page = readDocument(resultsPage)
  const named = [...page.matchAll(/the\s+proof\s+`([\w-]+)`/g)].map(([, name = '']) => name)
  t.ok(named.length > 4, 'they were found')
  t.strictSame(
    named.filter((name) => proofs[name] === undefined),
    [],
  )
  const claimed = [...page.matchAll(/^- `([\w-]+)`: /gm)].map(([, name = '']) => name)
  t.strictSame(claimed, Object.keys(proofs))
  t.end()
})
