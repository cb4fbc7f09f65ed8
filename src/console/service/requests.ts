/** Reads the service's state every two seconds. */
import type { Answer } from './service-state.js'

const intervalMs = 2000

/** Longer than the service waits for its slowest worker. */
const answerMsMax = 5000

/** Replaces browsers' various messages for a missing response; other failures keep their message. */
function problemOf(error: unknown): string {
  if (error instanceof TypeError) return 'The connection failed or was lost. This page keeps trying.'
  if (error instanceof DOMException) return `No response within ${answerMsMax / 1000} s. This page keeps trying.`
  return error instanceof Error ? error.message : String(error)
}

/** The path is relative, so that the page also works below a proxy's path. @param sinceS requests only later moments */
async function ask(sinceS: number): Promise<Answer> {
  const path = 'console/state'
  try {
    const signal = AbortSignal.timeout(answerMsMax)
    const response = await fetch(`${path}?since=${sinceS}`, { signal, cache: 'no-store' })
    const text = await response.text()
    return response.ok ? { text } : { problem: `/${path} returned ${response.status}: ${text}`, isSilent: false }
  } catch (error) {
    return { problem: problemOf(error), isSilent: true }
  }
}

/** Reads every two seconds, and when a hidden page becomes visible. In a hidden tab, the browser may throttle the timer. */
export async function keepReading(sinceS: () => number, take: (answer: Answer) => void): Promise<never> {
  for (;;) {
    const isDue = new Promise<void>((resolve) => {
      setTimeout(resolve, intervalMs)
      document.onvisibilitychange = () => document.hidden || resolve()
    })
    try {
      take(await ask(sinceS()))
    } catch (error) {
      // A defect; the next response may still be handled correctly.
      reportError(error)
    }
    await isDue
  }
}
