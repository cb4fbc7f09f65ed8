/**
 * Repeats a request about API keys until a response arrives: the process that received it may have exited, perhaps between its
 * commit and its response. A request may therefore be executed twice. An addition or a rotation then has the same outcome
 * (keys/rotation.ts), and a revoked key no longer exists. The caller decides which process gets a request.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { NothingDone } from '../../keys/requests.js'
import { MalformedRequest } from './protocol.js'

/** A dead process is replaced within a few attempts. */
const retryMs = 100

/**
 * Repeats a request until a response arrives or an attempt certainly had no effect. The attempt in flight after `msMax` is
 * the last.
 *
 * @throws NothingDone if no attempt had an effect, or the request was malformed; otherwise the error of the last attempt
 *   that may have had an effect
 */
export async function persistently<Response>(attempt: () => Promise<Response>, msMax: number): Promise<Response> {
  const deadline = performance.now() + msMax
  let uncertain: Error | undefined
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (error instanceof MalformedRequest) throw error
      if (error instanceof NothingDone) throw uncertain ?? error
      if (performance.now() > deadline) throw error
      uncertain = error as Error
    }
    await sleep(retryMs)
  }
}
