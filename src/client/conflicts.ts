/** Attempts that a constraint decides: repeated, after a growing random wait, while other writers come first. */
import { TopicdError } from './error.js'
import { wait } from './wait.js'

/** Attempts when the caller gives no number: with hundreds of ms between the last ones, ample for dozens of writers. */
const attemptsMaxDefault = 16

/** The first wait is up to this long, in ms: about the time that a durable write takes. */
const firstWaitMsMax = 4

/** No wait is longer than this, in ms: further writers are better served by trying again. */
const waitMsMax = 500

/** Repeats after 409 `unsatisfied_constraint`. @throws the last refusal, or immediately any other error */
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
