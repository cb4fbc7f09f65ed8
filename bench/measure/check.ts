/**
 * Checks that a server's responses are correct: before the server is timed (a server with wrong responses is not timed), and after each
 * burst, when acknowledged writes are read back.
 */
import { shownMax } from '../drivers/driver.js'
import { Counter } from '../servers/counting.js'
import { blanked, type Exchange, type Running } from '../servers/server.js'
import { type Operation, type Script, writesOf } from '../workloads/operation.js'
import { forEachConcurrently, send } from './http.js'

/** Scripts, and operations per script, that are checked before timing. */
const scriptsTried = 16
const operationsTried = 12

/** Maximum topics read back after a burst, and maximum bytes of their values. */
const readBackMax = 2000
const readBackBytesMax = 8 * 1024 * 1024

/** Requests in flight while values are read back. */
const inFlightMax = 32

/** Runs the start of a few scripts, one request at a time. @returns the first problem, or undefined */
export async function firstProblem(running: Running, scripts: readonly Script[]): Promise<string | undefined> {
  for (const script of scripts.slice(0, scriptsTried)) {
    for (const operation of script.slice(0, operationsTried)) {
      const problem = await problemWith(running, operation)
      if (problem !== undefined) return problem
    }
  }
  return undefined
}

/** Sends one operation to a server. @returns the problem with the response, or undefined */
export async function problemWith(running: Running, operation: Operation): Promise<string | undefined> {
  const exchange = running.exchange(operation)
  if (exchange === undefined) return `${operation.kind} is not supported`
  const { status, body } = await send(running.port, running.headers, exchange)
  if (status < 200 || status > 299) return `${operation.kind} returned ${status}: ${body.slice(0, shownMax)}`
  const { counting, expected } = exchange
  const actual = running.blankDigits && counting === undefined ? blanked(body) : body
  if (counting === undefined ? expected.includes(actual) : new Counter(counting).read(body) !== undefined) return
  return `${operation.kind} returned ${actual.slice(0, shownMax)}, not ${expectedExcerpt(exchange)}`
}

/**
 * Reads written topics back. Each must have the value acknowledged last or, if several connections write it, the last value of one of them.
 * A counter must equal the number of acknowledged increments.
 *
 * @param answered responses that each connection received in the burst
 * @returns the lost write, or undefined
 */
export async function lostWrite(
  running: Running,
  scripts: readonly Script[],
  answered: readonly number[],
): Promise<string | undefined> {
  const values = [...lastValues(scripts, answered)]
  const valueBytes = values[0]?.[1][0]?.length ?? 1
  const some = values.slice(0, Math.min(readBackMax, Math.ceil(readBackBytesMax / valueBytes)))
  const fetches = [
    ...some.map(([path, values]): Operation => ({ kind: 'fetch', path, values })),
    ...[...counts(scripts, answered)].map(([path, count]): Operation => ({ kind: 'count', path, value: `${count}` })),
  ]
  let lost: string | undefined
  await forEachConcurrently(fetches, inFlightMax, async (fetch, agent) => {
    const exchange = running.exchange(fetch)
    if (exchange === undefined || !('path' in fetch)) return
    const { body } = await send(running.port, running.headers, exchange, agent)
    const actual = running.blankDigits ? blanked(body) : body
    if (!exchange.expected.includes(actual)) {
      const excerpt = actual.slice(0, shownMax)
      lost ??= `${fetch.path} was read back as ${excerpt}, though ${expectedExcerpt(exchange)} was acknowledged last`
    }
  })
  return lost
}

/** For each written path, the values acknowledged last: one for each connection that writes it. */
function lastValues(scripts: readonly Script[], answered: readonly number[]): Map<string, string[]> {
  const values = new Map<string, string[]>()
  for (const [connection, script] of scripts.entries()) {
    const own = new Map<string, string>()
    const count = answered[connection] ?? 0
    for (let i = Math.max(0, count - script.length); i < count; i++) {
      const operation = script[i % script.length]
      if (operation === undefined) continue
      for (const { path, value } of writesOf(operation)) own.set(path, value)
    }
    for (const [path, value] of own) values.set(path, [...(values.get(path) ?? []), value])
  }
  return values
}

/** For each counter, the acknowledged increments of all connections. */
function counts(scripts: readonly Script[], answered: readonly number[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const [connection, script] of scripts.entries()) {
    for (const [i, operation] of script.entries()) {
      if (operation.kind !== 'increment') continue
      const passes = Math.ceil(Math.max(0, (answered[connection] ?? 0) - i) / script.length)
      counts.set(operation.path, (counts.get(operation.path) ?? 0) + passes)
    }
  }
  return counts
}

function expectedExcerpt({ expected }: Exchange): string {
  return expected[0]?.slice(0, shownMax) ?? 'any known response'
}
