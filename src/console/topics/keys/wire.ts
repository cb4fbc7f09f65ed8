/** Sends requests about API keys, which the console alone may. Their bodies and answers: api/bodies/key-bodies.ts. */
import type { KeysBody } from '../../../api/bodies/key-bodies.js'
import { TopicdError } from '../../../client/index.js'
import { type Session, timeoutMs } from '../session.js'

/** @throws TopicdError if it is refused; TypeError without a connection */
export async function askKeys<Answered>({ base, authorization }: Session, body: KeysBody): Promise<Answered> {
  const answer = await fetch(`${base}/console/keys`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { authorization, 'content-type': 'application/json' },
    signal: AbortSignal.timeout(timeoutMs),
  })
  const answered = (await answer.json().catch(() => ({}))) as { readonly code?: string; readonly message?: string }
  if (answer.ok) return answered as Answered
  const retryAfterSeconds = Number(answer.headers.get('retry-after')) || undefined
  throw new TopicdError(answer.status, answered.code ?? '', answered.message ?? answer.statusText, {
    retryAfterSeconds,
  })
}
