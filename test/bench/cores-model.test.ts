/** The rates that the benchmark `cores` computes for machines with more cores, from costs that are given here. */
import { join } from 'node:path'
import { test } from 'tap'

const compiled = join(import.meta.dirname, '../..', 'dist-bench')

/** The parts used here of the compiled benchmarks, which have no declarations. */
interface Cost {
  readonly workers: number
  readonly microseconds: number
}
interface CommitLine {
  readonly commitMicroseconds: number
  readonly writeMicroseconds: number
}
interface Row {
  readonly cores: number
  readonly fetchesPerSecond: number
  readonly pagesPerSecond: number
  readonly durable: readonly {
    readonly connections: number
    readonly writesPerCommit: number
    readonly writesPerSecond: number
    readonly boundBy: string
  }[]
}
const { commitLine, coresOfMostWrites, coresRows } = (await import(join(compiled, 'report/cores-model.js'))) as {
  commitLine(times: readonly { readonly writes: number; readonly microseconds: number }[]): CommitLine
  coresOfMostWrites(rows: readonly Row[], connections: number): number | undefined
  coresRows(
    measured: Record<'fetch' | 'page' | 'overwrite', readonly Cost[]> & { readonly commit: CommitLine },
    cores: readonly number[],
    connections: readonly number[],
  ): readonly Row[]
}
const { computedTable } = (await import(join(compiled, 'report/cores-tables.js'))) as {
  computedTable(rows: readonly Row[], connections: readonly number[], workers: number): string[]
}

const costs = (one: number, two: number): readonly Cost[] => [
  { workers: 1, microseconds: one },
  { workers: 2, microseconds: two },
]

/** A commit of 256 writes takes 1,768 µs. */
const commit: CommitLine = { commitMicroseconds: 1000, writeMicroseconds: 3 }
const measured = { fetch: costs(10, 12.5), page: costs(20, 20), overwrite: costs(25, 25), commit }

const rows = coresRows(measured, [1, 2, 8, 32], [256, 16])

test('reads grow with the cores, at the cost of that many workers or of the most that were measured', (t) => {
  t.strictSame(
    rows.map(({ cores, fetchesPerSecond, pagesPerSecond }) => [cores, fetchesPerSecond, pagesPerSecond]),
    [
      [1, 100_000, 50_000],
      [2, 160_000, 100_000],
      [8, 640_000, 400_000],
      [32, 2_560_000, 1_600_000],
    ],
  )
  t.end()
})

test('durable writes are bound by CPU, then by the commits that hold the lock in turn', (t) => {
  t.match(
    rows.map(({ durable }) => durable[0]),
    [
      { writesPerCommit: 256, writesPerSecond: 40_000, boundBy: 'CPU' },
      { writesPerCommit: 128, writesPerSecond: 80_000, boundBy: 'CPU' },
      { writesPerCommit: 32, writesPerSecond: (32 * 1e6) / 1096, boundBy: 'write lock' },
      { writesPerCommit: 8, writesPerSecond: (8 * 1e6) / 1024, boundBy: 'write lock' },
    ],
  )
  t.equal(coresOfMostWrites(rows, 256), 2, 'more workers write less: each commit holds fewer writes')
  t.match(
    rows.map(({ durable }) => durable[1]),
    [{ writesPerCommit: 16 }, { writesPerCommit: 8 }, { writesPerCommit: 2 }, { writesPerCommit: 1 }],
    'a commit never holds less than one write',
  )
  t.equal(coresOfMostWrites(rows, 64), undefined, 'nothing was computed for other numbers of connections')
  t.end()
})

test('the line through commits has no negative part', (t) => {
  const through = (...microseconds: number[]): CommitLine =>
    commitLine([1, 2, 3].map((writes, i) => ({ writes, microseconds: microseconds[i] ?? 0 })))
  t.strictSame(through(110, 120, 130), { commitMicroseconds: 100, writeMicroseconds: 10 })
  t.strictSame(
    through(130, 120, 110),
    { commitMicroseconds: 120, writeMicroseconds: 0 },
    'more writes cannot be quicker',
  )
  t.strictSame(through(0, 14, 28), { commitMicroseconds: 0, writeMicroseconds: 8 }, 'a commit cannot take less than 0')
  t.end()
})

test('the table says that it was computed, what binds each rate, and where more cores write less', (t) => {
  const table = computedTable(rows, [256, 16], 2)
  t.match(table[0], /^### COMPUTED, not measured/)
  t.ok(table.includes('| 2 | 160,000 | 100,000 | 80,000 (CPU, 128 a commit) | 7,800 (write lock, 8 a commit) |'))
  t.ok(table.some((line) => line.startsWith('Over 256 connections 2 workers write most')))
  const rising = computedTable(coresRows(measured, [1, 2], [256]), [256], 2)
  t.notOk(
    rising.some((line) => line.startsWith('Over ')),
    'nothing is said where more cores write more',
  )
  t.end()
})
