/**
 * The pass over a long body, and finding what is wrong with it, cost about as much as JSON.parse does, whatever the
 * body consists of.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { repeatedName } from '../../dist/api/members.js'

/** CPU time of the fastest of a few runs, in milliseconds: the others were disturbed. */
function cpuMsOf(work: () => void): number {
  let fastest = Infinity
  for (let run = 0; run < 5; run++) {
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    fastest = Math.min(fastest, (user + system) / 1000)
  }
  return fastest
}

/** Passes over the bytes that the search may cost more than JSON.parse: fewer than two were measured. */
const sweepsMax = 5

/** In ms of CPU, each the least of five runs. */
interface Costs {
  readonly problemMs: number
  readonly scanMs: number
  readonly parseMs: number
  /** One pass over the bytes. */
  readonly sweepMs: number
}

/** What it costs to find what is wrong with a text of 4 MiB, and its members. */
function costsOf(start: string, piece: string, end: string): Costs {
  const script = `
    import { scanMembers } from '${join(import.meta.dirname, '../../dist/api/members.js')}'
    import { jsonProblem } from '${join(import.meta.dirname, '../../dist/api/json-problem.js')}'
    const [start, piece, end] = ${JSON.stringify([start, piece, end])}
    const text = start + piece.repeat(Math.floor((4 * 1024 * 1024) / piece.length)) + end
    const bytes = Buffer.from(text)
    ${cpuMsOf.toString()}
    const parse = () => { try { JSON.parse(text) } catch {} }
    const table = new Uint8Array(256).fill(1)
    let sum = 0
    const sweep = () => { for (let i = 0; i < bytes.length; i++) sum += table[bytes[i]] }
    const problemMs = cpuMsOf(() => jsonProblem(bytes, 1000))
    const scanMs = cpuMsOf(() => scanMembers(bytes))
    console.log(JSON.stringify({ problemMs, scanMs, parseMs: cpuMsOf(parse), sweepMs: cpuMsOf(sweep), sum }))`
  return measured(script)
}

/** What a script prints as JSON. It runs in its own process, where no coverage is counted. */
function measured<Figures>(script: string): Figures {
  const { NODE_V8_COVERAGE: _, NODE_OPTIONS: __, ...env } = process.env
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { env, encoding: 'utf8' })
  return JSON.parse(stdout) as Figures
}

t.test(
  'a long body that is invalid at its end costs about as much as JSON.parse does, whatever it consists of',
  async (t) => {
    for (const [start, piece, end] of [
      ['{"value":[', '1,', 'x]}'],
      ['{"value":[', '[],', 'x]}'],
      ['{"value":[', '{"a":1},', 'x]}'],
      ['{"value":[', '-12.5e+3,', 'x]}'],
      ['{"value":[', 'true,', 'x]}'],
      ['{"value":[', '"ab",', 'x]}'],
      ['{"value":"', '\\n', '\\x"}'],
      ['{"value":[', ' ', 'x]}'],
    ] as const) {
      const { problemMs, parseMs, sweepMs } = costsOf(start, piece, end)
      // JSON.parse reads some texts a word at a time; the search has to read every byte, on any machine.
      t.ok(problemMs < parseMs + sweepsMax * sweepMs, `${piece}: ${inWords(problemMs, parseMs, sweepMs)}`)
    }
  },
)

/** Passes over the bytes that finding the members may cost more than JSON.parse: fewer than three were measured. */
const scanSweepsMax = 8

t.test('finding the members of a long body costs about as much as JSON.parse does', async (t) => {
  for (const piece of ['\\"', '\\\\', 'x', `${'x'.repeat(33)}\\"`, `${'\\'.repeat(9998)}\\"`]) {
    const { scanMs, parseMs, sweepMs } = costsOf(`{"value":"`, piece, '"}')
    t.ok(
      scanMs < parseMs + scanSweepsMax * sweepMs,
      `a string of ${piece.slice(-3)}: ${inWords(scanMs, parseMs, sweepMs)}`,
    )
  }
  for (const piece of ['\t', '\n  {"a": 1},', '"",', '[],']) {
    const { scanMs, parseMs, sweepMs } = costsOf(`{"value":[`, piece, '1]}')
    t.ok(
      scanMs < parseMs + scanSweepsMax * sweepMs,
      `an array of ${JSON.stringify(piece)}: ${inWords(scanMs, parseMs, sweepMs)}`,
    )
  }
})

function inWords(ms: number, parseMs: number, sweepMs: number): string {
  return `${ms.toFixed(1)} ms of CPU, JSON.parse ${parseMs.toFixed(1)} ms, a pass over the bytes ${sweepMs.toFixed(1)} ms`
}

t.test('the search for a repeated name ends at the first one and costs less than twice JSON.parse', async (t) => {
  const members = Array.from({ length: 80_000 }, (_, i) => `"name${i}":1`)
  const early = Buffer.from(`{${members[0]},${members.join()}}`)
  const late = Buffer.from(`{${members.join()},${members[0]}}`)
  t.equal(repeatedName(early), 'name0')
  t.equal(repeatedName(late), 'name0')
  const { parseMs, earlyMs, lateMs } = measured<Record<'parseMs' | 'earlyMs' | 'lateMs', number>>(`
    import { repeatedName } from '${join(import.meta.dirname, '../../dist/api/members.js')}'
    const members = Array.from({ length: 80_000 }, (_, i) => '"name' + i + '":1')
    const early = Buffer.from('{' + [members[0], ...members].join() + '}')
    const late = Buffer.from('{' + [...members, members[0]].join() + '}')
    ${cpuMsOf.toString()}
    const parseMs = cpuMsOf(() => JSON.parse(late.toString()))
    console.log(JSON.stringify({ parseMs, earlyMs: cpuMsOf(() => repeatedName(early)), lateMs: cpuMsOf(() => repeatedName(late)) }))`)
  t.ok(
    earlyMs < parseMs / 10,
    `${earlyMs.toFixed(1)} ms of CPU for one at the start, JSON.parse ${parseMs.toFixed(1)} ms`,
  )
  t.ok(lateMs < 2 * parseMs, `${lateMs.toFixed(1)} ms of CPU for one at the end, JSON.parse ${parseMs.toFixed(1)} ms`)
})
