/**
 * The pass over a long text, be it JSON or wrong at its end, costs about as much as JSON.parse does, whatever the text
 * consists of.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'

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

/**
 * Passes over the bytes that the reader may cost more than JSON.parse: six or seven were measured where it skips blanks a
 * word at a time. A cost that grows with the square of the length is thousands of passes.
 */
const sweepsMax = 16

/** In ms of CPU, each the least of five runs. */
interface Costs {
  readonly readMs: number
  readonly parseMs: number
  /** One pass over the bytes. */
  readonly sweepMs: number
}

/** What it costs to read a text of 4 MiB. */
function costsOf(start: string, piece: string, end: string): Costs {
  const script = `
    import { JsonReader } from '${join(import.meta.dirname, '../../dist/json/reader.js')}'
    const [start, piece, end] = ${JSON.stringify([start, piece, end])}
    const text = start + piece.repeat(Math.floor((4 * 1024 * 1024) / piece.length)) + end
    const bytes = Buffer.from(text)
    ${cpuMsOf.toString()}
    const parse = () => { try { JSON.parse(text) } catch {} }
    const table = new Uint8Array(256).fill(1)
    let sum = 0
    const sweep = () => { for (let i = 0; i < bytes.length; i++) sum += table[bytes[i]] }
    const read = () => {
      const reader = new JsonReader(bytes, 1000)
      for (let name = reader.enterObject(); name !== undefined; name = reader.nextName()) reader.text()
      reader.problem()
    }
    const readMs = cpuMsOf(read)
    console.log(JSON.stringify({ readMs, parseMs: cpuMsOf(parse), sweepMs: cpuMsOf(sweep), sum }))`
  return measured(script)
}

/** What a script prints as JSON. It runs in its own process, where no coverage is counted. */
function measured<Results>(script: string): Results {
  const { NODE_V8_COVERAGE: _, NODE_OPTIONS: __, ...env } = process.env
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { env, encoding: 'utf8' })
  return JSON.parse(stdout) as Results
}

/** The start of a text, the piece that it is made of, its end, and another end with which it is wrong. */
const texts = [
  ['{"value":[', '1,', '1]}', 'x]}'],
  ['{"value":[', '[],', '1]}', 'x]}'],
  ['{"value":[', '{"a":1},', '1]}', 'x]}'],
  ['{"value":[', '-12.5e+3,', '1]}', 'x]}'],
  ['{"value":[', 'true,', '1]}', 'x]}'],
  ['{"value":[', '"ab",', '1]}', 'x]}'],
  ['{"value":[', '"",', '1]}', 'x]}'],
  ['{"value":[', ' ', '1]}', 'x]}'],
  ['{"value":[', '\t', '1]}', 'x]}'],
  ['{"value":[', '\n  {"a": 1},', '1]}', 'x]}'],
  ['{"value":"', 'x', '"}', '\\x"}'],
  ['{"value":"', '\\n', '"}', '\\x"}'],
  ['{"value":"', '\\"', '"}', '\\x"}'],
  ['{"value":"', `${'x'.repeat(33)}\\"`, '"}', '\\x"}'],
  ['{"value":"', `${'\\'.repeat(9998)}\\"`, '"}', '\\x"}'],
  ['{', '"a":1,', '"b":2}', 'x}'],
] as const

t.test('reading a long text costs about as much as JSON.parse does, whatever it consists of', (t) => {
  for (const [start, piece, ...ends] of texts) {
    const costs = ends.map((end) => costsOf(start, piece, end))
    // JSON.parse creates nothing of a text that is wrong at its end; the reader has read all of it by then.
    const parseMs = Math.max(...costs.map((cost) => cost.parseMs))
    for (const [index, end] of ends.entries()) {
      const { readMs, sweepMs } = costs[index] as Costs
      // JSON.parse reads some texts a word at a time; the reader has to read every byte, on any machine.
      t.ok(
        readMs < parseMs + sweepsMax * sweepMs,
        `${JSON.stringify(piece.slice(-8))} to ${end}: ${readMs.toFixed(1)} ms of CPU, JSON.parse ${parseMs.toFixed(1)} ms, a pass over the bytes ${sweepMs.toFixed(1)} ms`,
      )
    }
  }
  t.end()
})
