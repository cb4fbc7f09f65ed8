/**
 * The process that autocannon runs in. It receives the name of a job's file and sends back the burst.
 *
 * Every response body is compared with the correct ones for its request, because a connection receives its responses in the order of its
 * requests. Wrong statuses, timeouts and connections that close early are counted. At the end each connection waits for its last response,
 * so that the acknowledged writes are known exactly. Latencies are recorded here because autocannon reports them in whole milliseconds. A
 * retried increment counts once, with the time of all its attempts.
 */
import { strict as assert } from 'node:assert'
import type { EventEmitter } from 'node:events'
import { readFileSync } from 'node:fs'
import { createHistogram } from 'node:perf_hooks'
import autocannon from 'autocannon'
import { Counter } from '../servers/counting.js'
import { blanked } from '../servers/server.js'
import { answerSecondsMax, type Burst, type Job, shownMax } from './driver.js'

/** Interval at which autocannon checks the time. */
const sampleMs = 100

/** Time after the last request within which the last responses must arrive. */
const drainSecondsMax = 2 * answerSecondsMax

/**
 * An autocannon client with members that its published types omit: its own options, read for each response, and the number of requests
 * after which it stops.
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
  const job = JSON.parse(readFileSync(file, 'utf8')) as Job
  void new Load(job).run().then((burst) => process.send?.(burst))
})
process.on('disconnect', () => process.exit(0))

/** A running job. */
class Load {
  readonly #job: Job
  readonly #requests: readonly autocannon.Request[]
  readonly #clients: ScriptedClient[] = []
  readonly #answered: number[]
  readonly #latenciesUs = createHistogram({ figures: 3 })
  #firstWrong: string | undefined
  #ended = 0
  #startMs = 0
  #endMs = 0
  #startCpu = process.cpuUsage()

  constructor(job: Job) {
    this.#job = job
    this.#requests = job.exchanges.map(({ method, path, body }) => ({ method, path, body, headers: job.headers }))
    this.#answered = job.scripts.map(() => 0)
  }

  async run(): Promise<Burst> {
    const { port, scripts, seconds } = this.#job
    const options = {
      url: `http://127.0.0.1:${port}`,
      connections: scripts.length,
      duration: seconds + drainSecondsMax,
      sampleInt: sampleMs,
      timeout: answerSecondsMax,
      setupClient: (client: autocannon.Client) => this.#prepare(client as unknown as ScriptedClient),
    } as autocannon.Options
    const result = await new Promise<autocannon.Result>((resolve, reject) => {
      const load = autocannon(options, (error, result) => (error ? reject(error as Error) : resolve(result)))
      load.once('start', () => this.#start())
    })
    assert(this.#clients.length === scripts.length, 'one client per script')
    return this.#burst(result)
  }

  /** Gives a client its script and checks each response against it. */
  #prepare(client: ScriptedClient): void {
    const index = this.#clients.push(client) - 1
    const script = this.#job.scripts[index] ?? []
    const [first] = script.flatMap((exchange) => this.#job.exchanges[exchange] ?? [])
    if (first?.counting !== undefined) return this.#prepareCounter(client, index, new Counter(first.counting))
    client.setRequests(script.flatMap((exchange) => this.#requests[exchange] ?? []))
    client.opts.verifyBody = (body) => {
      const count = this.#answered[index] ?? 0
      this.#answered[index] = count + 1
      return this.#isRight(script[count % script.length], body)
    }
    client.on('done', () => this.#onDone())
    client.on('response', (_status, _bytes, ms) => this.#record(ms))
  }

  /** Gives a client only increments, because its script contains nothing else. */
  #prepareCounter(client: ScriptedClient, index: number, counter: Counter): void {
    const { isAttempting } = counter
    let verdict: ReturnType<Counter['read']>
    let spentMs = 0
    const attempts: Partial<autocannon.Request> = {
      setupRequest: (request) => ({ ...request, body: counter.attempt }),
      // Runs before the next request is built, unlike `verifyBody`.
      onResponse: (_status, body) => {
        verdict = counter.read(body)
      },
    }
    const exchange = this.#job.scripts[index]?.[0] ?? 0
    client.setRequests([{ ...this.#requests[exchange], ...(isAttempting ? attempts : {}) }])
    client.opts.verifyBody = (body) => {
      if (!isAttempting) verdict = counter.read(body)
      if (verdict === 'added') this.#answered[index] = (this.#answered[index] ?? 0) + 1
      if (verdict === undefined) this.#firstWrong ??= `an increment returned ${JSON.stringify(body.slice(0, shownMax))}`
      return verdict !== undefined
    }
    client.on('done', () => this.#onDone())
    client.on('response', (_status, _bytes, ms) => {
      spentMs += ms
      if (isAttempting && verdict === 'retry') return
      this.#record(spentMs)
      spentMs = 0
    })
  }

  #onDone(): void {
    if (++this.#ended === this.#job.scripts.length) this.#endMs = performance.now()
  }

  #record(ms: number): void {
    this.#latenciesUs.record(Math.max(1, Math.round(ms * 1000)))
  }

  #isRight(index: number | undefined, body: string): boolean {
    const exchange = index === undefined ? undefined : this.#job.exchanges[index]
    if (exchange === undefined) return false
    const { expected, path } = exchange
    if (expected.includes(this.#job.blankDigits ? blanked(body) : body)) return true
    const [actual, correct] = [body, expected[0] ?? ''].map((text) => JSON.stringify(text.slice(0, shownMax)))
    this.#firstWrong ??= `${path} returned ${actual}, not ${correct}`
    return false
  }

  /** Called when the requests are prepared. When the burst is over, each client stops after the request in flight. */
  #start(): void {
    this.#startCpu = process.cpuUsage()
    this.#startMs = performance.now()
    setTimeout(() => {
      for (const client of this.#clients) client.responseMax = client.reqsMade
    }, this.#job.seconds * 1000)
  }

  #burst(result: autocannon.Result): Burst {
    const cpu = process.cpuUsage(this.#startCpu)
    const total = this.#answered.reduce((sum, count) => sum + count, 0)
    const unanswered = result.requests.sent - result.requests.total
    const problems = [
      this.#firstWrong,
      result.non2xx > 0 && `${result.non2xx} responses were not 2xx`,
      result.mismatches > 0 && `${result.mismatches} bodies were wrong`,
      result.timeouts > 0 && `${result.timeouts} requests timed out`,
      result.errors > result.timeouts && `${result.errors - result.timeouts} connections failed`,
      unanswered > 0 && `${unanswered} requests got no response`,
      total === 0 && 'there was no response at all',
    ].filter((problem) => typeof problem === 'string')
    return {
      requests: total,
      seconds: (this.#endMs - this.#startMs) / 1000,
      latencyMedianMs: this.#latenciesUs.percentile(50) / 1000,
      latency99Ms: this.#latenciesUs.percentile(99) / 1000,
      driverSeconds: (cpu.user + cpu.system) / 1e6,
      answered: this.#answered,
      problem: problems.length > 0 ? problems.join('; ') : undefined,
    }
  }
}
