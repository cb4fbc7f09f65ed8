/**
 * wrk as the driver, if it is installed: several times as fast as autocannon, so that the server is more often the bottleneck. It looks up
 * every body among the correct ones but cannot match a response to its request. It therefore does not drive workloads whose responses
 * depend on the connection's earlier requests. At the end it closes its connections without waiting, so the last acknowledged writes are
 * unknown and values are not read back.
 */
import { execFile } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { programVersion, root } from '../measure/machine.js'
import { requestText } from './crowd.js'
import { answerSecondsMax, type Burst, type Driver, type Job } from './driver.js'

const script = join(root, 'bench/drivers/wrk.lua')

/** Time beyond the burst, for reading the requests and one timeout. */
const graceSeconds = 2 * answerSecondsMax

/**
 * wrk as a driver; undefined if it is not installed.
 *
 * @param directory where the files of jobs are written
 */
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
  const texts = job.exchanges.map((exchange) => requestText(job.port, job.headers, exchange))
  const requests: string[] = []
  for (let step = 0; step < longest; step++) {
    for (const script of job.scripts)
      requests.push(...script.slice(step, step + 1).flatMap((index) => texts[index] ?? []))
  }
  const expected = new Set(job.exchanges.flatMap((exchange) => exchange.expected))
  const blocks = [...requests, ...expected].map((text) => `${Buffer.byteLength(text)}\n${text}\n`)
  return Buffer.from(`${requests.length} ${expected.size} ${job.blankDigits ? 1 : 0} 0\n${blocks.join('')}`)
}

/** The figures in the order in which wrk.lua prints them. */
function burst(output: string): Burst {
  const figures = /^figures (.*)$/m.exec(output)?.[1]?.split(' ').map(Number)
  if (figures === undefined) throw new Error(`wrk printed no figures:\n${output}`)
  const [requests = 0, microseconds = 0, median = 0, latency99 = 0, driverSeconds = 0, ...errors] = figures
  const [wrong = 0, connect = 0, read = 0, write = 0, status = 0, timeouts = 0] = errors
  const problems = [
    wrong > 0 && `${wrong} responses were wrong, the first was ${/^first wrong (.*)$/m.exec(output)?.[1]}`,
    connect > 0 && `${connect} connections failed`,
    read + write > 0 && `${read + write} connections were lost`,
    status > 0 && `${status} responses were not 2xx`,
    timeouts > 0 && `${timeouts} requests timed out`,
    requests === 0 && 'there was no response at all',
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
