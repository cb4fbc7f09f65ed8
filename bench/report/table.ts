/** Results as text: lines for each workload during the run, and Markdown tables at the end. */
import type { GuaranteeRow } from '../measure/guarantees.js'
import type { Outcome, Result, Round } from '../measure/result.js'
import { type Spread, spread } from '../measure/statistics.js'

/** The share of its cores at which a driver (one core) or a server (one core per worker) counts as the bottleneck of a burst. */
const busyMin = 0.9

/** The rounds of one server, summarised. */
interface Summary {
  readonly microseconds: Spread
  readonly ratio: Spread | undefined
  readonly requestsPerSecond: Spread
  readonly latencyMedianMs: number
  readonly latency99Ms: number
  readonly boundBy: 'server' | 'driver' | 'neither'
}

/** Undefined if the server has no rounds or its responses were wrong. */
export function summary(outcome: Outcome, workers: number): Summary | undefined {
  const { rounds, problem } = outcome
  if (rounds.length === 0 || problem !== undefined) return undefined
  const ratios = rounds.flatMap(({ ratio }) => (ratio === undefined ? [] : [ratio]))
  const median = (pick: (round: Round) => number): number => spread(rounds.map(pick)).median
  const driverLoad = median((round) => round.driverLoad)
  const serverLoad = median((round) => round.serverLoad) / workers
  return {
    microseconds: spread(rounds.map((round) => round.microsecondsPerRequest)),
    ratio: ratios.length > 0 ? spread(ratios) : undefined,
    requestsPerSecond: spread(rounds.map((round) => round.requestsPerSecond)),
    latencyMedianMs: median((round) => round.latencyMedianMs),
    latency99Ms: median((round) => round.latency99Ms),
    boundBy: serverLoad >= busyMin ? 'server' : driverLoad >= busyMin ? 'driver' : 'neither',
  }
}

/** Columns of a server's name. */
const nameWidth = 18

/** A workload's result, in the form printed when the workload is done. */
export function resultLines(result: Result): string[] {
  const { scale, workers, outcomes } = result
  const conditions = [
    plural(scale.connections, 'connection'),
    plural(scale.topics, 'topic'),
    `values of ${count(scale.valueBytes)} bytes`,
    plural(workers, 'worker'),
    `driven by ${result.driver}`,
  ]
  const lines = [`${result.workload}: ${result.question}`, `  ${conditions.join(', ')}`]
  for (const outcome of outcomes) lines.push(outcomeLine(outcome, result))
  const driven = outcomes.filter((outcome) => summary(outcome, workers)?.boundBy === 'driver')
  if (driven.length > 0) {
    const names = driven.map(({ server }) => server).join(', ')
    lines.push(
      `  ${result.driver} was the bottleneck of ${names}: requests per second there are its limit, not the server's`,
    )
  }
  return [...lines, ...verdicts(result).map(({ words }) => `  ${words}`)]
}

function outcomeLine(outcome: Outcome, { workers, topicsPerRequest }: Result): string {
  const name = `  ${outcome.server.padEnd(nameWidth)}`
  const figures = summary(outcome, workers)
  if (figures === undefined) return `${name} NO FIGURES: ${outcome.problem}`
  const ratio =
    figures.ratio === undefined ? '' : `${figures.ratio.median.toFixed(2)} × floor [${range(figures.ratio, 2)}]`
  return [
    name,
    `${figure(figures.microseconds.median)} µs CPU per request [${range(figures.microseconds, 1)}]`.padEnd(44),
    ratio.padEnd(28),
    `${count(Math.round(figures.requestsPerSecond.median))}/s`.padStart(10),
    `p50 ${figures.latencyMedianMs.toFixed(2)} ms, p99 ${figures.latency99Ms.toFixed(2)} ms`,
    `bound by ${figures.boundBy}`,
    ...(topicsPerRequest === undefined
      ? []
      : [`${(figures.microseconds.median / topicsPerRequest).toFixed(2)} µs per topic`]),
  ].join('  ')
}

/** Whether topicd met the targets of a workload. */
export function verdicts(result: Result): { words: string; met: boolean }[] {
  const outcome = result.outcomes.find(({ server }) => server === 'topicd')
  const figures = outcome && summary(outcome, result.workers)
  if (figures === undefined) return []
  const verdict = (met: boolean, target: string) => ({ met, words: `target: ${target}: ${met ? 'met' : 'MISSED'}` })
  const { ratioMax, topicsPerRequest, microsecondsPerTopicMax, latencyMedianMsMax } = result
  const targets = []
  if (ratioMax !== undefined && figures.ratio !== undefined)
    targets.push(verdict(figures.ratio.median <= ratioMax, `at most ${ratioMax} × floor`))
  if (topicsPerRequest !== undefined && microsecondsPerTopicMax !== undefined) {
    const microseconds = figures.microseconds.median / topicsPerRequest
    targets.push(verdict(microseconds <= microsecondsPerTopicMax, `at most ${microsecondsPerTopicMax} µs per topic`))
  }
  if (latencyMedianMsMax !== undefined)
    targets.push(
      verdict(figures.latencyMedianMs <= latencyMedianMsMax, `median latency at most ${latencyMedianMsMax} ms`),
    )
  return targets
}

/** All workloads in one table: each server's CPU time per request and its ratio to the floor. */
export function ratioTable(results: readonly Result[]): string[] {
  const servers = [...new Set(results.flatMap((result) => result.outcomes.map(({ server }) => server)))]
  const rows = results.map((result) => [
    result.workload,
    ...servers.map((name) => {
      const outcome = result.outcomes.find(({ server }) => server === name)
      if (outcome === undefined) return '—'
      const figures = summary(outcome, result.workers)
      if (figures === undefined) return 'none'
      const ratio = figures.ratio === undefined || name === 'bare' ? '' : ` (${figures.ratio.median.toFixed(2)} ×)`
      return `${figure(figures.microseconds.median)}${ratio}`
    }),
  ])
  return markdown(['server CPU µs per request', ...servers], rows)
}

/** The guarantees that each server keeps. */
export function guaranteeTable(rows: readonly GuaranteeRow[]): string[] {
  const servers = Object.keys(rows[0]?.kept ?? {})
  return markdown(
    ['guarantee', ...servers],
    rows.map(({ words, kept }) => [words, ...servers.map((name) => kept[name] ?? '—')]),
  )
}

export function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line)]
}

/** A number with about three significant digits. */
export function figure(value: number): string {
  return value >= 100 ? count(Math.round(value)) : value.toFixed(1)
}

function range({ min, max }: Spread, digits: number): string {
  return `${min.toFixed(digits)}–${max.toFixed(digits)}`
}

function count(value: number): string {
  return value.toLocaleString('en')
}

function plural(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`
}
