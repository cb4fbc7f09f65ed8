/**
 * The model behind the command `cores`: from costs that were measured on one machine to the rates that a machine with more
 * cores could reach, one worker per core. Pure. Times are in µs, rates in requests per second.
 *
 * Two limits: CPU, of which each core has a second per second; and LMDB's write lock, which all workers share, so that
 * commits happen one after the other whatever the number of cores. What the model leaves out only lowers rates: memory
 * bandwidth, the network, cores that are half of a hyper-threaded one, clients that are slow to send their next write,
 * and that a write costs more CPU in a commit with fewer others. Commits larger than the measured ones are on the same
 * line.
 */
import { regression } from '../measure/statistics.js'

/** What a request costs with a number of workers: server CPU time of all processes, in µs. */
export interface Cost {
  readonly workers: number
  readonly microseconds: number
}

/** How long a commit of a number of writes takes, in µs. */
export interface CommitTime {
  readonly writes: number
  readonly microseconds: number
}

/** The time of a commit as a straight line: µs for the commit itself, and µs for each of its writes. Neither is < 0. */
export interface CommitLine {
  readonly commitMicroseconds: number
  readonly writeMicroseconds: number
}

/** What was measured. Costs are in ascending order of workers, and only of as many as the machine has cores. */
interface Measured {
  readonly fetch: readonly Cost[]
  readonly page: readonly Cost[]
  readonly overwrite: readonly Cost[]
  readonly commit: CommitLine
}

/** Durable writes with a number of connections over all workers, each waiting for its answer before the next write. */
interface DurableRate {
  readonly connections: number
  readonly writesPerCommit: number
  readonly writesPerSecond: number
  readonly boundBy: 'CPU' | 'write lock'
}

/** What a machine with `cores` cores could do, if it did only one of these. */
export interface CoresRow {
  readonly cores: number
  readonly fetchesPerSecond: number
  readonly pagesPerSecond: number
  /** One for each number of connections. */
  readonly durable: readonly DurableRate[]
}

/**
 * The line through the times of commits, by least squares. Where noise would make one of its parts negative, that part
 * is 0 and the other alone is fitted.
 *
 * @param times at least two with different `writes`
 */
export function commitLine(times: readonly CommitTime[]): CommitLine {
  const { slope, intercept } = regression(times.map(({ writes, microseconds }) => [writes, microseconds]))
  const sum = (of: (time: CommitTime) => number): number => times.reduce((total, time) => total + of(time), 0)
  if (slope < 0)
    return { commitMicroseconds: sum(({ microseconds }) => microseconds) / times.length, writeMicroseconds: 0 }
  if (intercept >= 0) return { commitMicroseconds: intercept, writeMicroseconds: slope }
  const throughZero = sum((time) => time.writes * time.microseconds) / sum(({ writes }) => writes ** 2)
  return { commitMicroseconds: 0, writeMicroseconds: throughZero }
}

/** The µs that a commit of so many writes takes on a line. */
export function commitMicroseconds(line: CommitLine, writes: number): number {
  return line.commitMicroseconds + line.writeMicroseconds * writes
}

/** One row for each number of cores. */
export function coresRows(
  measured: Measured,
  cores: readonly number[],
  connections: readonly number[],
): readonly CoresRow[] {
  return cores.map((cores) => ({
    cores,
    fetchesPerSecond: cpuRate(measured.fetch, cores),
    pagesPerSecond: cpuRate(measured.page, cores),
    durable: connections.map((connections) => durableRate(measured, cores, connections)),
  }))
}

/** The number of cores with the highest durable rate over so many connections: the first, if several have it. */
export function coresOfMostWrites(rows: readonly CoresRow[], connections: number): number | undefined {
  let best: { cores: number; rate: number } | undefined
  for (const { cores, durable } of rows) {
    const rate = durable.find((each) => each.connections === connections)?.writesPerSecond
    if (rate !== undefined && (best === undefined || rate > best.rate)) best = { cores, rate }
  }
  return best?.cores
}

/**
 * The lock's part: each worker commits the writes of its own connections, all of them at once if they are quick, and
 * the commits of all workers are serialised.
 */
function durableRate({ overwrite, commit }: Measured, cores: number, connections: number): DurableRate {
  const writesPerCommit = Math.max(1, connections / cores)
  const lockRate = (writesPerCommit * 1e6) / commitMicroseconds(commit, writesPerCommit)
  const ownRate = cpuRate(overwrite, cores)
  const boundBy = ownRate <= lockRate ? 'CPU' : 'write lock'
  return { connections, writesPerCommit, writesPerSecond: Math.min(ownRate, lockRate), boundBy }
}

/**
 * Requests per second when CPU alone is the limit: at the cost measured with that many workers or, beyond the measured
 * ones, with the most.
 */
function cpuRate(costs: readonly Cost[], cores: number): number {
  const cost = costs.findLast(({ workers }) => workers <= cores) ?? costs[0]
  if (cost === undefined) throw new RangeError('no cost was measured')
  return (cores * 1e6) / cost.microseconds
}
