/** Reads the service every two seconds, beside each other its metrics and whether it is ready, until the page ends. */
import type { Answered } from './service-state.js'

const intervalMs = 2000

/** Longer than the service waits for its slowest worker. */
const answerMsMax = 5000

/** Relative, so that the page also works below a path of a proxy. */
async function ask(path: string): Promise<Response> {
  return fetch(path, { signal: AbortSignal.timeout(answerMsMax), cache: 'no-store' })
}

async function readOnce(): Promise<Answered> {
  const [readiness, metrics] = await Promise.all([ask('readyz'), ask('metrics')])
  const [readinessText, metricsText] = await Promise.all([readiness.text(), metrics.text()])
  if (!metrics.ok) throw new Error(`/metrics answers ${metrics.status}: ${metricsText}`)
  const dateMs = Date.parse(metrics.headers.get('date') ?? '')
  return {
    readiness: { status: readiness.status, text: readinessText },
    metrics: metricsText,
    serviceS: Number.isNaN(dateMs) ? undefined : dateMs / 1000,
  }
}

/** Reads now, every two seconds, and whenever the page is shown again after it was hidden. */
export function keepReading(answered: (answer: Answered) => void, failed: (reason: string) => void): void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let reading = false

  async function read(): Promise<void> {
    if (reading) return
    reading = true
    clearTimeout(timer)
    const startedMs = performance.now()
    const outcome = await readOnce().catch(reasonOf)
    reading = false
    if (typeof outcome === 'string') failed(outcome)
    else answered(outcome)
    timer = setTimeout(read, Math.max(0, startedMs + intervalMs - performance.now()))
  }

  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) void read()
  })
  void read()
}

/** Browsers word it in many ways when nothing answers; only other failures have something to say. */
function reasonOf(error: unknown): string {
  if (error instanceof TypeError) return 'The connection is refused or cut off. This page keeps trying.'
  if (error instanceof DOMException) return `No answer within ${answerMsMax / 1000} s. This page keeps trying.`
  return error instanceof Error ? error.message : String(error)
}
