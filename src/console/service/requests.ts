/** Reads the service's metrics and readiness every two seconds and, if something was missed, its kept readings. */
import { type Past, pastOf } from './past.js'
import type { Failure, Round } from './service-state.js'

const intervalMs = 2000

/** Longer than the service waits for its slowest worker. */
const answerMsMax = 5000

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Relative, so that the page also works below a path of a proxy. */
async function ask(path: string): Promise<Answer | Failure> {
  try {
    const response = await fetch(path, { signal: AbortSignal.timeout(answerMsMax), cache: 'no-store' })
    return { status: response.status, headers: response.headers, text: await response.text() }
  } catch (error) {
    return { problem: problemOf(error) }
  }
}

/** Browsers word a missing answer in many ways; only other failures have something to say. */
function problemOf(error: unknown): string {
  if (error instanceof TypeError) return 'The connection was refused or lost. This page keeps trying.'
  if (error instanceof DOMException) return `No response within ${answerMsMax / 1000} s. This page keeps trying.`
  return error instanceof Error ? error.message : String(error)
}

async function askMetrics(): Promise<Round['metrics']> {
  const startedMs = performance.now()
  const answer = await ask('metrics')
  if ('problem' in answer) return answer
  const { status, headers, text } = answer
  if (status !== 200) return { problem: `/metrics returned ${status}: ${text}` }
  const dateMs = Date.parse(headers.get('date') ?? '')
  const serviceS = Number.isNaN(dateMs) ? undefined : dateMs / 1000
  return { text, serviceS, tookS: (performance.now() - startedMs) / 1000 }
}

/** Undefined if the service does not report it, as earlier versions do not. */
async function askPast(): Promise<Past | undefined> {
  const answer = await ask('console/state')
  if ('problem' in answer || answer.status !== 200) return undefined
  return pastOf(answer.text, Date.now() / 1000)
}

async function readOnce(isBehind: (atS: number) => boolean): Promise<Round> {
  const askedS = Date.now() / 1000
  const [readiness, metrics, past] = await Promise.all([
    ask('readyz'),
    askMetrics(),
    isBehind(askedS) ? askPast() : undefined,
  ])
  return { askedS, readiness, metrics, past }
}

/** Reads every two seconds, and when a hidden page is shown again; in a hidden tab the browser decides how often. */
export function keepReading(isBehind: (atS: number) => boolean, take: (round: Round) => void): void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let reading = false

  async function read(): Promise<void> {
    if (reading) return
    reading = true
    clearTimeout(timer)
    const startedMs = performance.now()
    try {
      take(await readOnce(isBehind))
    } finally {
      reading = false
      timer = setTimeout(read, Math.max(0, startedMs + intervalMs - performance.now()))
    }
  }

  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) void read()
  })
  void read()
}
