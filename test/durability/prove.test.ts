/**
 * How long proofs are run: rounds until there are enough, each once, also after an interruption; and the row that is
 * written. The proofs themselves are the long tests.
 */
import { spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { readDocument } from '../support/documents.js'
import { reportResults, resultsIn } from '../support/proof-results.js'
import { digestOf } from '../support/prove/build.js'
import { figuresOf, Journal, type Round } from '../support/prove/journal.js'
import { durationText, resultsPage, withMutants, withResults } from '../support/prove/page.js'
import { type Proof, proofs } from '../support/prove/proofs.js'
import { commandOf, runRound } from '../support/prove/rounds.js'
import { type Ended, forgive, runSeries, type SeriesOptions } from '../support/prove/series.js'
import { verdictOf } from '../support/test-process.js'

const proof: Proof = {
  claim: 'nothing is lost',
  test: 'none',
  environment: (left) => ({ LEFT: String(left) }),
  counted: 'kills',
  goal: 10,
  roundSeconds: 60,
  roundSecondsMax: 1,
  summary: ({ kills, slowestMax }) => [`${kills} kills`, `at most ${slowestMax} ms`],
}

const endedAfter = (results: Ended['results'], passed = true): Ended => ({
  passed,
  seconds: 30,
  results,
  output: 'why',
})

const here = { revision: 'abc', day: '2030-01-01', machine: 'a machine' }

function seriesIn(t: Test, options: Partial<SeriesOptions> = {}): { series: SeriesOptions; printed: string[] } {
  const printed: string[] = []
  const series = {
    journal: new Journal(join(t.testdir(), 'prove', 'rounds.jsonl')),
    buildNow: () => 'one',
    circumstancesNow: () => here,
    seed: 7,
    endMs: Infinity,
    run: async () => endedAfter({ kills: 4 }),
    command: (seed: number) => `repeat ${seed}`,
    print: (text: string) => void printed.push(text),
    ...options,
  }
  return { series, printed }
}

t.test('figures are printed, found and added; of some the largest counts', (t) => {
  const lines: string[] = []
  const test = { comment: (line: string) => void lines.push(`    # ${line}`) } as unknown as Test
  reportResults(test, { kills: 3, slowestMax: 5 })
  reportResults(test, { kills: 4, slowestMax: 2, reads: 1 })
  t.strictSame(resultsIn(`ok 1\n${lines.join('\n')}\nok 2\n`), { kills: 7, slowestMax: 5, reads: 1 })
  t.strictSame(resultsIn('ok 1\n'), {})
  t.end()
})

t.test('rounds are run until there are enough, each with its own seed', async (t) => {
  const rounds: unknown[] = []
  const run: SeriesOptions['run'] = async (seed, { LEFT }) => {
    rounds.push([seed, Number(LEFT)])
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

t.test('of a proof with cases every one is run until it has passed', async (t) => {
  const tried: (string | undefined)[] = []
  const run: SeriesOptions['run'] = async (_, { CASE }) => {
    tried.push(CASE)
    return endedAfter({ kills: 1 })
  }
  const { series } = seriesIn(t, { run })
  t.equal(await runSeries('kills', { ...proof, cases: ['a', 'b'], goal: 2 }, series), 'complete')
  t.equal(await runSeries('kills', { ...proof, cases: ['new', 'a', 'b'], goal: 3 }, series), 'complete')
  t.strictSame(tried, ['a', 'b', 'new'], 'also one that was added before those that have passed')
})

t.test('a failed round ends the proof, counts for nothing, and is not forgotten', async (t) => {
  const outcomes = [endedAfter({ kills: 9 }, false), endedAfter({ kills: 10 })]
  const { series, printed } = seriesIn(t, { run: async () => outcomes.shift() as Ended })
  t.equal(await runSeries('kills', proof, series), 'failed')
  t.match(printed.slice(-2), [/^why\n$/, /^kills: SEED=7 has FAILED. To repeat it:\n {2}repeat 7\n$/])
  t.equal(await runSeries('kills', proof, series), 'failed', 'also the next time, without another round')
  t.equal(outcomes.length, 1)
  t.equal(forgive(series.journal, 'kills', 'one', 'the cable was pulled'), 1)
  t.equal(forgive(series.journal, 'kills', 'one', 'again'), 0)
  t.equal(await runSeries('kills', proof, { ...series, seed: 8 }), 'complete')
  const rounds = series.journal.rounds('kills', 'one')
  t.match(rounds, [
    { seed: 7, passed: false, forgiven: 'the cable was pulled' },
    { seed: 8, passed: true, ...here },
  ])
  t.strictSame(figuresOf(rounds), { kills: 10 })
})

t.test('a round during which the program was built anew does not count', async (t) => {
  let build = 'one'
  const run: SeriesOptions['run'] = async () => {
    build = 'two'
    return endedAfter({ kills: 10 })
  }
  const { series } = seriesIn(t, { run, buildNow: () => build })
  t.equal(await runSeries('kills', proof, series), 'failed')
  t.strictSame([...series.journal.rounds('kills', 'one'), ...series.journal.rounds('kills', 'two')], [])
})

t.test('no round begins that would end too late', async (t) => {
  const endMs = performance.now() + 59_000
  const { series } = seriesIn(t, { endMs, run: () => t.fail('a round') as never })
  t.equal(await runSeries('kills', proof, series), 'time was up')
})

t.test('a line of the journal that was broken off takes no other with it', (t) => {
  const { series } = seriesIn(t)
  const file = join(t.testdirName, 'prove/rounds.jsonl')
  const round: Round = { proof: 'kills', build: 'one', seed: 1, environment: {}, ...here, ...endedAfter({ kills: 1 }) }
  series.journal.add(round)
  appendFileSync(file, '{"proof":"ki')
  series.journal.add({ ...round, seed: 2 })
  t.match(series.journal.rounds('kills', 'one'), [{ seed: 1 }, { seed: 2 }])
  t.end()
})

t.test('a digest knows every built file, except those that it leaves out', (t) => {
  const directory = join(t.testdir(), 'dist')
  const [file, other] = [join(t.testdirName, 'lock.json'), join(directory, 'console/page.js')]
  mkdirSync(join(directory, 'console'), { recursive: true })
  for (const path of [join(directory, 'a.js'), other, file]) writeFileSync(path, '1')
  const digest = (): string =>
    digestOf({ directories: [directory], without: [join(directory, 'console/')], files: [file] })
  const first = digest()
  writeFileSync(other, '2')
  t.equal(digest(), first)
  writeFileSync(join(directory, 'a.js'), '2')
  const second = digest()
  t.not(second, first)
  writeFileSync(file, '2')
  t.not(digest(), second)
  t.end()
})

t.test('a test has passed if it ended with totals, without failure, and not before its assertions', (t) => {
  const totals = '# { total: 3, pass: 2, skip: 1 }\n'
  t.match(verdictOf(`ok 1 - a\n  ok 2 - b # SKIP no disk\n${totals}`, 0), {
    ok: true,
    passed: 2,
    skipped: 1,
    skips: ['b # SKIP no disk'],
  })
  t.notOk(verdictOf(totals, 1).ok)
  t.notOk(verdictOf(totals, null).ok)
  t.notOk(verdictOf('ok 1\n', 0).ok)
  t.notOk(verdictOf(`test assertion after automatic end\n${totals}`, 0).ok)
  t.end()
})

/** A round of a test that consists of this script; tap's own output is written by hand. */
function roundOf(t: Test, script: string, secondsMax = 20): Promise<Ended> {
  const file = join(t.testdir(), 'a.test.js')
  writeFileSync(file, script)
  const test = relative(join(import.meta.dirname, '..'), file).replace(/\.test\.js$/, '')
  const never = new AbortController().signal
  return runRound({ ...proof, test, roundSecondsMax: secondsMax }, 7, { LEFT: '3' }, never)
}

const passing = `console.log('# FIGURES {"kills":' + process.env.LEFT + '}\\n# { total: 1, pass: 1 }')`

t.test('a round passes only if its test did, skipped nothing and counted something', async (t) => {
  t.match(await roundOf(t, passing), { passed: true, results: { kills: 3 } })
  t.match(await roundOf(t, passing.replace('kills', 'other')), { passed: false })
  t.match(await roundOf(t, passing.replace('pass: 1', 'pass: 1, skip: 1')), { passed: false })
  t.match(await roundOf(t, `${passing}; process.exitCode = 1`), { passed: false })
})

t.test('a round that hangs is ended with everything that it has started', async (t) => {
  const script = `import { spawn } from 'node:child_process'
    const child = spawn('sleep', ['300'], { stdio: 'inherit' })
    console.log('# CHILD ' + child.pid)
    for (;;);`
  const { passed, seconds, output } = await roundOf(t, script, 1)
  t.notOk(passed)
  t.ok(seconds < 30, `${seconds} s`)
  const pid = /# CHILD (\d+)/.exec(output)?.[1]
  t.match(pid, /\d/)
  // One that has ended, but that nobody has waited for yet, has no command line any more.
  const isGone = !existsSync(`/proc/${pid}/cmdline`) || readFileSync(`/proc/${pid}/cmdline`, 'utf8') === ''
  t.ok(isGone, 'its child has ended')
})

t.test('the command that repeats a round is one for a shell', (t) => {
  t.match(
    commandOf({ ...proof, test: 'http/a.long' }, 7, { CASE: "it's one", N: '5' }),
    /^env CASE='it'\\''s one' N=5 SEED=7 TAP=1 node --enable-source-maps dist-test\/http\/a\.long\.test\.js$/,
  )
  t.end()
})

t.test('results replace the earlier ones of their proof', (t) => {
  const page = readDocument(resultsPage)
  const round = (seed: number, more: Partial<Round> = {}): Round => ({
    ...{ proof: 'kills', build: 'one', seed, environment: {}, ...here, ...endedAfter({ kills: 6, slowestMax: seed }) },
    ...{ seconds: 3750, ...more },
  })
  const results = `
### kills

Nothing is lost:

- 12 kills
- at most 7 ms
- 2 h 5 min; abc, 2030-01-01; a machine

### writer-kills
`
  const once = withResults(page, 'kills', proof, [round(6), round(7)])
  t.equal(once.split(results).length, 2)
  t.equal(withResults(once, 'kills', proof, [round(6), round(7)]), once, 'and only that')
  const first = once.replace(/\n### kills\n[\s\S]*?(?=\n### )/, '')
  t.equal(withResults(first, 'kills', proof, [round(6), round(7)]), once, 'in its place')
  const failing = withResults(once, 'kills', proof, [
    round(6),
    round(8, { passed: false, forgiven: 'why not', revision: 'def' }),
  ])
  t.match(
    failing,
    ' ms\n- **SEED=8 failed** (why not)\n- 1 h 3 min; abc, 2030-01-01; def, 2030-01-01; a machine\n',
    'nothing is hidden',
  )
  t.strictSame([0, 29, 3600, 3661].map(durationText), ['0 s', '29 s', '1 h 0 min', '1 h 1 min'])
  t.end()
})

t.test('a proof with cases needs each of them', (t) => {
  for (const [name, { cases, goal }] of Object.entries(proofs)) {
    if (cases !== undefined) t.equal(new Set(cases).size, goal, name)
  }
  t.end()
})

t.test('the table of planted faults is current', (t) => {
  t.equal(withMutants(readDocument(resultsPage)), readDocument(resultsPage))
  t.end()
})

t.test('the proofs that the page names exist, and do as much as it says', (t) => {
  const page = readDocument(resultsPage)
  const named = [...page.matchAll(/the\s+proof\s+`([\w-]+)`/g)].map(([, name = '']) => name)
  t.ok(named.length > 4, 'they were found')
  t.strictSame(
    named.filter((name) => proofs[name] === undefined),
    [],
  )
  t.equal(Number(/`writer-kills`\s+kills it (\d+) times/.exec(page)?.[1]), proofs['writer-kills']?.goal)
  t.equal(/`changes-model` follows a million changes/.test(page), proofs['changes-model']?.goal === 1_000_000)
  t.notMatch(page.split('## Results')[0], /(?<!-)hours?\b/, 'how long they take is in the results alone')
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
