/** How `npm run prove` runs rounds, and the row that it writes. The proofs themselves are the long tests. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readDocument, root } from '../support/documents.js'
import { reportResults, resultsIn } from '../support/proof-results.js'
import { proofs, resultsPage, runRound, withRow } from '../support/prove.js'
import { verdictOf } from '../support/test-process.js'

t.test('figures are printed, found and added; of some the largest counts', (t) => {
  const lines: string[] = []
  const test = { comment: (line: string) => void lines.push(`    # ${line}`) } as unknown as Test
  reportResults(test, { kills: 3, slowestMax: 5 })
  reportResults(test, { kills: 4, slowestMax: 2, reads: 1 })
  t.strictSame(resultsIn(`ok 1\n${lines.join('\n')}\nok 2\n`), { kills: 7, slowestMax: 5, reads: 1 })
  t.strictSame(resultsIn('ok 1\n'), {})
  t.end()
})

t.test('a test has passed if it ended with totals, without failure, and not before its assertions', (t) => {
  const totals = '# { total: 3, pass: 2, skip: 1 }\n'
  t.match(verdictOf(`ok 1 - a # time=1ms\n  ok 2 - b # SKIP no disk\n${totals}`, 0), {
    ok: true,
    passed: 1,
    skips: ['b # SKIP no disk'],
  })
  t.notOk(verdictOf(totals, 1).ok)
  t.notOk(verdictOf(totals, null).ok)
  t.notOk(verdictOf('ok 1\n', 0).ok)
  t.notOk(verdictOf(`test assertion after automatic end\n${totals}`, 0).ok)
  t.end()
})

/** A round of a test that consists of this script; tap's own output is written by hand. */
function roundOf(t: Test, script: string, secondsMax = 20): ReturnType<typeof runRound> {
  const file = join(t.testdir(), 'a.test.js')
  writeFileSync(file, script)
  return runRound([file], 'kills', { LEFT: '3' }, secondsMax)
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

t.test('a round that hangs is ended with everything that it has started', async (t) => {
  const script = `import { spawn } from 'node:child_process'
    const child = spawn('sleep', ['300'], { stdio: 'inherit' })
    console.log('# CHILD ' + child.pid)
    for (;;);`
  const { output, results } = await roundOf(t, script, 1)
  t.equal(results, undefined)
  const pid = /# CHILD (\d+)/.exec(output)?.[1]
  t.match(pid, /\d/)
  // One that has ended, but that nobody has waited for yet, has no command line any more.
  const isGone = !existsSync(`/proc/${pid}/cmdline`) || readFileSync(`/proc/${pid}/cmdline`, 'utf8') === ''
  t.ok(isGone, 'its child has ended')
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

t.test('a wrong command line is refused with the usage', (t) => {
  const main = join(root, 'dist-test/support/prove.js')
  for (const args of [['nothing'], ['--minutes', '0'], ['--rounds', 'x'], ['--seed', '-1'], ['--hours']]) {
    const { status, stderr } = spawnSync(process.execPath, [main, ...args], { encoding: 'utf8' })
    t.equal(status, 2, args.join(' '))
    t.match(stderr, /npm run prove/)
  }
  t.end()
})
