/**
 * wrk as the driver, when it is installed: several times as fast as autocannon, so that the server is the bottleneck more
 * often. It looks every body up among the right ones but cannot tie an answer to its request, so it does not drive
 * workloads whose answers depend on a connection's own history; and it cuts its connections off at the end, so nobody
 * knows what was acknowledged last, and written values are not read back.
 */
import { execFile } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { programVersion, root } from '../measure/machine.js'
import { answerSecondsMax, type Burst, type Driver, type Job } from './driver.js'

const script = join(root, 'bench', 'drive', 'wrk.lua')

/** What may pass beyond the burst itself: reading the requests in and one time-out. */
const graceSeconds = 2 * answerSecondsMax

/** Undefined when wrk is not installed. @param directory where jobs are handed over */
export function wrkDriver(directory: string): Driver | undefined {
  const version = programVersion('sh', ['-c', 'wrk --version || true'], /(?<=wrk (?:debian\/)?)[\d.]+/)
  if (version === undefined || version === 'of unknown version') return undefined
  return {
    name: 'wrk',
    version: `wrk ${version}`,
    run: (job) => run(job, join(directory, 'job.wrk')),
    stop: async () => undefined,
  }
}

async function run(job: Job, file: string): Promise<Burst> {
  await writeFile(file, jobFile(job))
  const options = ['-t1', '-c', String(job.scripts.length), '-d', `${Math.max(1, Math.round(job.seconds))}s`]
  const args = [
    ...options,
    '--timeout',
    `${answerSecondsMax}s`,
    '-s',
    script,
    `http://127.0.0.1:${job.port}`,
    '--',
    file,
  ]
  const { stdout } = await promisify(execFile)('wrk', args, { timeout: (job.seconds + graceSeconds) * 1000 })
  await rm(file)
  return burst(stdout)
}

/** All scripts as one list, first requests first. */
function jobFile(job: Job): Buffer {
  const longest = Math.max(...job.scripts.map((script) => script.length))
  const order: number[] = []
  for (let step = 0; step < longest; step++) {
    for (const script of job.scripts) if (step < script.length) order.push(script[step])
  }
  const texts = job.exchanges.map((exchange) => requestText(job, exchange))
  const answers = new Set(job.exchanges.flatMap((exchange) => exchange.answers))
  const blocks = [...order.map((place) => texts[place]), ...answers].map(
    (text) => `${Buffer.byteLength(text)}\n${text}\n`,
  )
  return Buffer.from(`${order.length} ${answers.size} ${job.blankDigits ? 1 : 0} 0\n${blocks.join('')}`)
}

function requestText(job: Job, exchange: Job['exchanges'][number]): string {
  const headers = { host: `127.0.0.1:${job.port}`, ...job.headers }
  const length = exchange.method === 'GET' ? [] : [`content-length: ${Buffer.byteLength(exchange.body)}`]
  const lines = [...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), ...length]
  return `${exchange.method} ${exchange.path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${exchange.body}`
}

function burst(output: string): Burst {
  const figures = /^figures (.*)$/m.exec(output)?.[1].split(' ').map(Number)
  if (figures === undefined) throw new Error(`wrk gave no figures:\n${output}`)
  const [requests, microseconds, median, latency99, driverSeconds, wrong, connect, read, write, status, timeouts] =
    figures
  const problems = [
    wrong > 0 && `${wrong} answers were wrong, the first was ${/^first wrong (.*)$/m.exec(output)?.[1]}`,
    connect > 0 && `${connect} connections failed`,
    read + write > 0 && `${read + write} connections were lost`,
    status > 0 && `${status} answers were not 2xx`,
    timeouts > 0 && `${timeouts} requests timed out`,
    requests === 0 && 'there was no answer at all',
  ].filter((problem) => typeof problem === 'string')
  return {
    requests,
    seconds: microseconds / 1e6,
    latencyMedianMs: median / 1000,
    latency99Ms: latency99 / 1000,
    driverSeconds,
    problem: problems.length > 0 ? problems.join('; ') : undefined,
  }
}
