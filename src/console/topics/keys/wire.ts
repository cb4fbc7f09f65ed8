/** The console's own wire for API keys: the list, and one request for each change. */
import { TopicdError } from '../../../client/index.js'
import { type Session, timeoutMs } from '../session.js'

/** Times are in ISO 8601; members are absent where the key has no such thing. */
export interface Key {
  readonly name: string
  readonly allow: readonly string[]
  /** Subtrees; empty for all topics. */
  readonly under: readonly string[]
  readonly created: string
  readonly expires?: string
  /** Requests per second. */
  readonly rate?: number
  readonly used?: string
  /** Until when the token before the last rotation is valid. */
  readonly former_until?: string
  /** What it has beyond the key of this session, which may therefore not change it. */
  readonly beyond?: string
}

/** A key with its new token, which no other response contains. */
export interface Issued extends Key {
  readonly token: string
  /** The process ids of workers that may not use the change yet. */
  readonly late?: readonly number[]
}

export interface Creation {
  readonly op: 'create'
  readonly name: string
  readonly allow: readonly string[]
  readonly under: readonly string[]
  readonly expires: string | undefined
  readonly rate: number | undefined
}

export interface Rotation {
  readonly op: 'rotate'
  readonly name: string
  readonly keep_former_for: string
}

export async function listKeys(session: Session): Promise<readonly Key[]> {
  return ((await ask(session, {})) as { readonly keys: readonly Key[] }).keys
}

/** @throws TopicdError if it is refused; TypeError without a connection */
export async function issue(session: Session, change: Creation | Rotation): Promise<Issued> {
  return (await ask(session, { method: 'POST', body: JSON.stringify(change) })) as Issued
}

/** Resolves once every worker that responds refuses the key. @throws as `issue` */
export async function revoke(session: Session, name: string): Promise<void> {
  await ask(session, { method: 'POST', body: JSON.stringify({ op: 'revoke', name }) })
}

async function ask({ base, authorization }: Session, request: RequestInit): Promise<unknown> {
  const answer = await fetch(`${base}/console/keys`, {
    ...request,
    headers: { authorization, 'content-type': 'application/json' },
    signal: AbortSignal.timeout(timeoutMs),
  })
  const body = (await answer.json().catch(() => ({}))) as { readonly code?: string; readonly message?: string }
  if (answer.ok) return body
  const retryAfterSeconds = Number(answer.headers.get('retry-after')) || undefined
  throw new TopicdError(answer.status, body.code ?? '', body.message ?? answer.statusText, { retryAfterSeconds })
}
