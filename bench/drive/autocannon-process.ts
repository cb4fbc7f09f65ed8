/**
 * The process that autocannon runs in. It is sent the name of a file that holds a job, and sends back the burst.
 *
 * Every answer's whole body is compared with the right ones, on the connection and in the order in which it was asked
 * for; statuses, time-outs and connections that ended early are counted. At the end nothing is cut off: each connection
 * waits for its last answer, so that it is known exactly what was acknowledged. autocannon reports whole milliseconds
 * only, so latencies are recorded here.
 */
import { strict as assert } from 'node:assert'
import type { EventEmitter } from 'node:events'
import { readFileSync } from 'node:fs'
import { createHistogram } from 'node:perf_hooks'
import autocannon from 'autocannon'
import { blanked } from '../contenders/contender.js'
import { answerSecondsMax, type Burst, type Job, shownMax } from './driver.js'

/** autocannon looks at its clock this often. */
const sampleMs = 100

/** Longest that the last answers may take once no more requests are sent. */
const drainSecondsMax = 2 * answerSecondsMax

/**
 * autocannon's clients with what their published types leave out: their own options, consulted at each answer, and a
 * number of requests after which they end themselves instead of sending another one.
 */
interface ScriptedClient extends EventEmitter {
  setRequests(requests: autocannon.Request[]): void
  on(event: 'done', listener: () => void): this
  on(event: 'response', listener: (status: number, bytes: number, ms: number) => void): this
  readonly opts: { verifyBody: (body: string) => boolean }
  reqsMade: number
  responseMax: number | undefined
}

process.on('message', (file: string) => {
  void run(JSON.parse(readFileSync(file, 'utf8')) as Job).then((burst) => process.send?.(burst))
})
process.on('disconnect', () => process.exit(0))

async function run(job: Job): Promise<Burst> {
  const answered = job.scripts.map(() => 0)
  const histogram = createHistogram({ figures: 3 })
  let firstWrong: string | undefined

  const requests = job.exchanges.map(({ method, path, body }) => ({ method, path, body, headers: job.headers }))
  const clients: ScriptedClient[] = []
  let ended = 0
  let end = 0
  const setupClient = (plain: autocannon.Client): void => {
    const client = plain as unknown as ScriptedClient
    const own = clients.push(client) - 1
    const script = job.scripts[own]
    client.setRequests(script.map((place) => requests[place]))
    client.opts.verifyBody = (body) => {
      const { answers, path } = job.exchanges[script[answered[own]++ % script.length]]
      const right = answers.includes(job.blankDigits ? blanked(body) : body)
      if (!right)
        firstWrong ??= `${path} answered ${JSON.stringify(body.slice(0, shownMax))}, not ${JSON.stringify(answers[0].slice(0, shownMax))}`
      return right
    }
    client.on('done', () => {
      if (++ended === job.scripts.length) end = performance.now()
    })
    client.on('response', (_status, _bytes, ms) => histogram.record(Math.max(1, Math.round(ms * 1000))))
  }

  let cpu = process.cpuUsage()
  let start = performance.now()
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    const options = {
      url: `http://127.0.0.1:${job.port}`,
      connections: job.scripts.length,
      duration: job.seconds + drainSecondsMax,
      sampleInt: sampleMs,
      timeout: answerSecondsMax,
      setupClient,
    } as autocannon.Options
    const load = autocannon(options, (error, result) => (error ? reject(error as Error) : resolve(result)))
    /** Preparing the requests is over: what follows is load. */
    load.once('start', () => {
      cpu = process.cpuUsage()
      start = performance.now()
      setTimeout(() => {
        for (const client of clients) client.responseMax = client.reqsMade
      }, job.seconds * 1000)
    })
  })
  const seconds = (end - start) / 1000
  const used = process.cpuUsage(cpu)

  const total = answered.reduce((sum, count) => sum + count, 0)
  const unanswered = result.requests.sent - result.requests.total
  const problems = [
    firstWrong,
    result.non2xx > 0 && `${result.non2xx} answers were not 2xx`,
    result.mismatches > 0 && `${result.mismatches} bodies were wrong`,
    result.timeouts > 0 && `${result.timeouts} requests timed out`,
    result.errors > result.timeouts && `${result.errors - result.timeouts} connections failed`,
    unanswered > 0 && `${unanswered} requests have no answer`,
    total === 0 && 'there was no answer at all',
  ].filter((problem) => typeof problem === 'string')
  assert(clients.length === job.scripts.length, 'one client a script')
  return {
    requests: total,
    seconds,
    latencyMedianMs: histogram.percentile(50) / 1000,
    latency99Ms: histogram.percentile(99) / 1000,
    driverSeconds: (used.user + used.system) / 1e6,
    answered,
    problem: problems.length > 0 ? problems.join('; ') : undefined,
  }
}
