/**
 * Repeats a request about API keys until a response comes: the process that was asked may have ended, perhaps between its commit
 * and its response. So a request may be executed twice. An addition and a rotation then have the same outcome
 * (keys/rotation.ts), and a key that was revoked is gone. The caller decides which process gets a request.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { NothingDone } from '../../keys/requests.js'
import { MalformedRequest } from './protocol.js'

/** A dead process is replaced within a few attempts. */
const retryMs = 100

/**
 * Repeats a request until a response comes, or it is certain that nothing came of an attempt. The attempt in flight after
 * `msMax` is the last.
 *
 * @throws NothingDone when nothing came of any attempt, or its form was refused; otherwise Error of the last one of which that is not certain
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
