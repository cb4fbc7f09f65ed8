/**
 * The caller: an API key, its permissions, and the client that uses it. The key is kept in the tab's session storage,
 * which is deleted with the tab, and is sent only to the service.
 *
 * If the user opens a link on this page in a new tab, the browser copies that storage to the tab. Local storage, a cookie
 * or a BroadcastChannel would give the key to every page of this origin; behind a proxy, such pages may belong to other programs.
 */
import type { Overview } from '../../api/console/primary.js'
import { refusalOf } from '../../client/error.js'
import { type Client, connect } from '../../client/index.js'
import { urlOf } from '../shared/listener.js'

export type Operation = 'fetch' | 'set' | 'add' | 'remove' | 'admin'

interface KeyDescription {
  readonly name: string
  readonly allow: readonly Operation[]
  /** Subtrees; empty for all topics. */
  readonly under: readonly string[]
  /** ISO 8601; undefined for a key that does not expire. */
  readonly expires?: string
  readonly pageSizeMax: number
  /** Undefined from a worker of an earlier version. */
  readonly admin?: { readonly host: string; readonly port: number }
}

export interface Session {
  /** The service's URL without a trailing slash. */
  readonly base: string
  /** The header's value, for the console's own requests. */
  readonly authorization: string
  readonly key: KeyDescription
  readonly client: Client
}

const storageName = 'topicd-key'

/** Longer than any response from the service takes. */
const timeoutMs = 60_000

/** Time limit for the first request, in ms, because the user is waiting for it. */
const firstAnswerMsMax = 10_000

/** Undefined if the browser does not allow storage; then the key does not survive a reload. */
function storage(): Storage | undefined {
  try {
    return sessionStorage
  } catch {
    return undefined
  }
}

export function storedKey(): string | undefined {
  return storage()?.getItem(storageName) ?? undefined
}

export function storeKey(key: string): void {
  storage()?.setItem(storageName, key)
}

export function endSession(): void {
  storage()?.removeItem(storageName)
}

/**
 * Opens links on this page so that a new tab or window (middle button, Ctrl, Command or Shift) gets the key. Browsers copy the
 * storage only from an opener, which the tab would otherwise not have. When the new page starts, it drops its opener, so neither
 * page can control the other.
 */
export function shareWithOpenedTabs(): void {
  window.opener = null
  const open = (event: MouseEvent): void => {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a[href^="#"]') : null
    const isForOther = event.button === 1 || (event.button === 0 && (event.ctrlKey || event.metaKey || event.shiftKey))
    // If the browser forbids this, it opens the link itself, and the new tab asks for a key.
    if (isForOther && link !== null && window.open(link.href) !== null) event.preventDefault()
  }
  addEventListener('click', open)
  addEventListener('auxclick', open)
}

/** The key in the entered text, without the word that precedes it in a header. */
export function keyIn(text: string): string {
  return text.trim().replace(/^(apikey|bearer)\s+/i, '')
}

/** @throws as `ask`, also for an unknown key; RangeError if the key is malformed */
export async function beginSession(key: string): Promise<Session> {
  if (!/^[\x21-\x7e]+$/.test(key)) throw new RangeError('This is not an API key: it contains invalid characters.')
  // Relative to the page, so that a base path and a proxy's prefix are included.
  const base = new URL('.', document.baseURI).href.replace(/\/$/, '')
  const caller = { base, authorization: `Apikey ${key}`, client: connect(base, { key, timeoutMs }) }
  const described = await ask<KeyDescription>(caller, 'key', undefined, firstAnswerMsMax)
  if (!Array.isArray(described.allow) || !Array.isArray(described.under)) throw foreign()
  return { ...caller, key: described }
}

const foreign = (): RangeError => new RangeError('The response is not from topicd.')

/** Undefined if the key is restricted, the service is an earlier version, or the request fails. */
export async function readOverview(session: Session): Promise<Overview | undefined> {
  const { under, admin } = session.key
  return under.length > 0 || admin === undefined ? undefined : ask<Overview>(session, 'overview').catch(() => undefined)
}

/**
 * Sends a request to a route that only the console uses.
 *
 * @param body undefined for a GET
 * @throws TopicdError if the request is rejected; TypeError if there is no connection; RangeError for another program's response
 */
export async function ask<Answer>(
  { base, authorization }: Pick<Session, 'base' | 'authorization'>,
  what: string,
  body?: object,
  msMax = timeoutMs,
): Promise<Answer> {
  const answer = await fetch(`${base}/console/${what}`, {
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    headers: { authorization, 'content-type': 'application/json' },
    signal: AbortSignal.timeout(msMax),
  })
  const text = await answer.text()
  if (!answer.ok) throw refusalOf(answer, text, undefined)
  try {
    return JSON.parse(text)
  } catch {
    throw foreign()
  }
}

/** The URL of the Service page; undefined if this browser cannot reach it. */
export function servicePageOf({ admin }: KeyDescription): string | undefined {
  return admin && urlOf({ scheme: 'http', ...admin, path: '/' }, location.hostname)
}

/** @param path undefined for any topic */
export function may({ allow, under }: KeyDescription, operation: Operation, path?: string): boolean {
  if (!allow.includes(operation)) return false
  if (path === undefined || under.length === 0) return true
  return under.some((subtree) => path === subtree || path.startsWith(`${subtree}/`))
}
