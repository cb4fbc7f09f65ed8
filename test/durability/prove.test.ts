/**
 * How long proofs are run: rounds until there are enough, each once, also after an interruption; and the row that is
 * written. The proofs themselves are the long tests.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readDocument } from '../support/documents.js'
import { figuresIn, reportFigures } from '../support/figures.js'
import { buildOf, Journal } from '../support/prove/journal.js'
import type { Proof } from '../support/prove/proofs.js'
import { type Ended, figuresOf, runSeries, type SeriesOptions } from '../support/prove/series.js'
import { durationText, tablePage, withMutants, withRow } from '../support/prove/table.js'

const proof: Proof = {
  claim: 'nothing is lost',
  test: 'none',
  environment: () => ({}),
  counted: 'kills',
  goal: 10,
  roundSecondsMax: 1,
  summary: ({ kills, slowestMax }) => `${kills} kills, at most ${slowestMax} ms`,
}

const endedAfter = (figures: Ended['figures'], passed = true): Ended => ({
  passed,
  seconds: 30,
  figures,
  output: 'why',
})

function seriesIn(t: Test, options: Partial<SeriesOptions> = {}): { series: SeriesOptions; printed: string[] } {
  const printed: string[] = []
  const series = {
    journal: new Journal(join(t.testdir(), 'prove', 'rounds.jsonl')),
    build: 'one',
    seed: 7,
    endMs: Infinity,
    run: async () => endedAfter({ kills: 4 }),
    print: (text: string) => void printed.push(text),
    ...options,
  }
  return { series, printed }
}

t.test('figures are printed, found and added; of some the largest counts', (t) => {
  const lines: string[] = []
  const test = { comment: (line: string) => void lines.push(`    # ${line}`) } as unknown as Test
  reportFigures(test, { kills: 3, slowestMax: 5 })
  reportFigures(test, { kills: 4, slowestMax: 2, reads: 1 })
  t.strictSame(figuresIn(`ok 1\n${lines.join('\n')}\nok 2\n`), { kills: 7, slowestMax: 5, reads: 1 })
  t.strictSame(figuresIn('ok 1\n'), {})
  t.end()
})

t.test('rounds are run until there are enough, each with its own seed', async (t) => {
  const rounds: (readonly number[])[] = []
  const run: SeriesOptions['run'] = async (seed, left) => {
    rounds.push([seed, left])
    return endedAfter({ kills: 4 })
  }
  const { series, printed } = seriesIn(t, { run })
  t.equal(await runSeries('kills', proof, series), 'complete')
  t.strictSame(rounds, [
    [7, 10],
    [8, 6],
    [9, 2],
  ])
  t.match(printed[0], /^kills: 10 of 10 kills left; round 1, SEED=7\n$/)
  t.equal(await runSeries('kills', proof, series), 'complete', 'and not once more')
  t.equal(rounds.length, 3)
  t.strictSame(figuresOf(series.journal.rounds('kills', 'one')), { kills: 12 })
})

t.test('an interrupted proof continues, unless the program is another', async (t) => {
  let count = 0
  const run: SeriesOptions['run'] = async () => {
    if (++count === 2) throw new Error('interrupted')
    return endedAfter({ kills: 4 })
  }
  const { series } = seriesIn(t, { run })
  await t.rejects(runSeries('kills', proof, series), /interrupted/)
  t.equal(await runSeries('kills', proof, series), 'complete')
  t.equal(count, 4, 'one, the interrupted one, and two more')
  t.strictSame(series.journal.rounds('kills', 'another'), [])
  t.strictSame(series.journal.rounds('power-cuts', 'one'), [])
})

t.test('a failed round ends the proof, counts for nothing, and stays in the journal', async (t) => {
  const outcomes = [endedAfter({ kills: 9 }, false), endedAfter({ kills: 10 })]
  const { series, printed } = seriesIn(t, { run: async () => outcomes.shift() as Ended })
  t.equal(await runSeries('kills', proof, series), 'failed')
  t.match(printed.at(-1), /^why\nkills: FAILED; SEED=7 replays it\n$/)
  t.equal(await runSeries('kills', proof, series), 'complete')
  const rounds = series.journal.rounds('kills', 'one')
  t.strictSame(
    rounds.map(({ passed }) => passed),
    [false, true],
  )
  t.strictSame(figuresOf(rounds), { kills: 10 })
})

t.test('no round begins once time is up', async (t) => {
  const { series } = seriesIn(t, { endMs: 0, run: () => t.fail('a round') as never })
  t.equal(await runSeries('kills', proof, series), 'time was up')
})

t.test('a build is known by every built file of the program, and the test', (t) => {
  const dist = join(t.testdir(), 'dist')
  const test = join(t.testdir(), 'a.test.js')
  mkdirSync(join(dist, 'store'), { recursive: true })
  writeFileSync(join(dist, 'store/a.js'), '1')
  writeFileSync(test, '1')
  const first = buildOf(dist, test)
  t.equal(buildOf(dist, test), first)
  writeFileSync(join(dist, 'store/a.js'), '2')
  const second = buildOf(dist, test)
  t.not(second, first)
  writeFileSync(test, '2')
  t.not(buildOf(dist, test), second)
  t.end()
})

t.test('a row replaces the earlier one of its proof', (t) => {
  const page = readDocument(tablePage)
  const run = { seconds: 7500, failed: 0, rounds: 3, revision: 'abc', day: '2030-01-01', machine: 'a machine' }
  const row = '| `kills` | nothing is lost | 2 h 5 min | 12 kills, at most 7 ms | abc, 2030-01-01 | a machine |'
  const once = withRow(page, 'kills', proof, { kills: 12, slowestMax: 7 }, run)
  t.equal(once.split('\n').filter((line) => line === row).length, 1)
  t.equal(withRow(once, 'kills', proof, { kills: 12, slowestMax: 7 }, run), once, 'and only that')
  const failing = withRow(once, 'kills', proof, { kills: 12 }, { ...run, failed: 1 })
  t.match(failing, '; **1 of 3 rounds failed** |', 'failures are not hidden')
  t.strictSame([0, 29, 3600, 3661].map(durationText), ['0 s', '29 s', '1 h 0 min', '1 h 1 min'])
  t.end()
})

t.test('the table of planted faults is current', (t) => {
  t.equal(withMutants(readDocument(tablePage)), readDocument(tablePage))
  t.end()
})

t.test('a wrong command line is refused with the usage', (t) => {
  const main = join(import.meta.dirname, '../support/prove/main.js')
  for (const args of [['nothing'], ['--hours', '0'], ['--seed', '-1'], ['--minutes']]) {
    const { status, stderr } = spawnSync(process.execPath, [main, ...args], { encoding: 'utf8' })
    t.equal(status, 2, args.join(' '))
    t.match(stderr, /npm run prove/)
  }
  const { status, stdout } = spawnSync(process.execPath, [main, '--help'], { encoding: 'utf8' })
  t.equal(status, 0)
  t.match(stdout, /^ {2}power-cuts /m)
  t.end()
})
