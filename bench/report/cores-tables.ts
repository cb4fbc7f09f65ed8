/** The tables of the command `cores`, in Markdown: what was measured, and what was computed from it. */
import type { Replacements } from '../measure/replacement.js'
import type { Result } from '../measure/result.js'
import { spread } from '../measure/statistics.js'
import type { CommitTimes } from '../measure/write-lock.js'
import { type CommitLine, type CoresRow, commitMicroseconds, coresOfMostWrites } from './cores-model.js'
import { figure, markdown, summary } from './table.js'

/** Server CPU of a request of each workload by the number of workers, and its ratio to the floor. */
export function costTable(results: readonly Result[]): string[] {
  const workers = [...new Set(results.map((result) => result.workers))]
  const rows = [...new Set(results.map(({ workload }) => workload))].map((workload) => [
    workload,
    ...workers.map((count) => {
      const result = results.find((result) => result.workload === workload && result.workers === count)
      const outcome = result?.outcomes.find(({ server }) => server === 'topicd')
      const figures = outcome && summary(outcome, count)
      if (figures === undefined) return 'none'
      const ratio = figures.ratio === undefined ? '' : ` (${figures.ratio.median.toFixed(1)} ×)`
      return `${figure(figures.microseconds.median)}${ratio}`
    }),
  ])
  const head = workers.map((count) => `${count} worker${count === 1 ? '' : 's'}`)
  return ['### Measured: what a request costs', '', ...markdown(['server CPU µs (× floor)', ...head], rows)]
}

/** The times of commits beside the line through their medians. */
export function commitTable(times: readonly CommitTimes[], line: CommitLine): string[] {
  const rows = times.map(({ writes, microseconds: { median, min, max } }) => [
    String(writes),
    `${figure(median)} [${figure(min)}–${figure(max)}]`,
    figure(commitMicroseconds(line, writes)),
  ])
  return [
    '### Measured: how long a commit takes, and so holds the write lock that all workers share',
    '',
    ...markdown(['writes in a commit', 'µs of the commit [least–most]', 'on the line'], rows),
    '',
    `The line: ${figure(line.commitMicroseconds)} µs a commit + ${figure(line.writeMicroseconds)} µs a write.`,
    "Both include the hand-over to lmdb's thread and back, which is not under the lock.",
  ]
}

/** What clients notice of a worker's death, by the number of workers. */
export function replacementTable(all: readonly Replacements[]): string[] {
  const times = (ms: readonly number[]): string => {
    if (ms.length === 0) return '—'
    const { median, max } = spread(ms)
    return `${figure(median)} [${figure(max)}]`
  }
  const rows = all.map(({ workers, connections, undisturbedMs, survivorsMs, reconnectedMs }) => [
    String(workers),
    String(connections),
    times(undisturbedMs),
    times(survivorsMs),
    times(reconnectedMs),
  ])
  const head = [
    'workers',
    'connections',
    'longest write without a kill, ms',
    'longest write of a surviving connection, ms',
    'until the next answer of a lost connection, ms',
  ]
  return [
    '### Measured: a worker is killed and replaced under light durable writes',
    '',
    ...markdown(head, rows),
    '',
    'Medians of the kills [most]. With one worker no connection survives, and the last column is the start of a worker,',
    'with the delay after one that died young.',
  ]
}

/**
 * What machines with other numbers of cores could do, and by how many connections writes are limited.
 *
 * @param workers the most workers whose measured costs were used, as many as this machine has cores or fewer
 */
export function computedTable(rows: readonly CoresRow[], connections: readonly number[], workers: number): string[] {
  const rate = (perSecond: number): string => (Math.round(perSecond / 100) * 100).toLocaleString('en')
  const lines = rows.map(({ cores, fetchesPerSecond, pagesPerSecond, durable }) => [
    String(cores),
    rate(fetchesPerSecond),
    rate(pagesPerSecond),
    ...durable.map(
      ({ writesPerSecond, boundBy, writesPerCommit }) =>
        `${rate(writesPerSecond)} (${boundBy}, ${Math.round(writesPerCommit)} a commit)`,
    ),
  ])
  const head = connections.map((count) => `durable writes/s over ${count.toLocaleString('en')} connections`)
  return [
    '### COMPUTED, not measured: one worker per core, all clients always busy',
    '',
    ...markdown(['cores', 'fetches by path/s', 'pages of 10/s', ...head], lines),
    '',
    `CPU: cores divided by the cost of a request with that many workers, or with ${workers} for more cores than that.`,
    'Write lock: n writes in the time of a commit of n on the line, where n is the connections of one worker.',
    'Left out: whatever else many cores share (memory, network, hyper-threads), and what the clients cost.',
    ...connections.flatMap((count) => fallingNote(rows, count)),
  ]
}

/** A sentence where more cores would write less. */
function fallingNote(rows: readonly CoresRow[], connections: number): string[] {
  const best = coresOfMostWrites(rows, connections)
  if (best === undefined || best === rows.at(-1)?.cores) return []
  return [
    `Over ${connections.toLocaleString('en')} connections ${best} workers write most: with more, each commit holds fewer writes.`,
  ]
}
