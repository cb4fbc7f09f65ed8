/** Retries of conditional writes, with a random, growing wait after each conflict with another writer. */
import { TopicdError } from './error.js'
import { wait } from './wait.js'

/** Default maximum number of attempts: the last waits take hundreds of ms, which is ample for dozens of writers. */
const attemptsMaxDefault = 16

/** Upper bound on the first wait, in ms: about the duration of a durable write. */
const firstWaitMsMax = 4

/** Upper bound on all waits, in ms: with more writers, retrying is better than waiting longer. */
const waitMsMax = 500

/** Retries after 409 `unsatisfied_constraint`. @throws any other error immediately, or the last 409 */
export async function untilSatisfied<Result>(
  attempt: () => Promise<Result>,
  attemptsMax: number | undefined = attemptsMaxDefault,
  signal?: AbortSignal,
): Promise<Result> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt()
    } catch (error) {
      if (!isConflict(error) || !(attempts < attemptsMax)) throw error
    }
    await wait(Math.random() * Math.min(waitMsMax, firstWaitMsMax * 2 ** (attempts - 1)), signal)
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof TopicdError && error.code === 'unsatisfied_constraint'
}
