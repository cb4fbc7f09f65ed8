/**
 * The caller: an API key, what it may do, and the client that uses it. The key is kept in the tab's session storage,
 * which ends with the tab, and is sent nowhere but to the service.
 *
 * A tab that someone opens by a link of this page gets a copy of that storage from the browser, and from no one else:
 * local storage, a cookie or a BroadcastChannel would give the key to every page of this origin, which behind a proxy may
 * be another program's.
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
  /** Where the service is, without a slash at the end. */
  readonly base: string
  /** The value of the header, for the console's own wire. */
  readonly authorization: string
  readonly key: KeyDescription
  readonly client: Client
}

const storageName = 'topicd-key'

/** Longer than the service takes for any answer. */
const timeoutMs = 60_000

/** For the first request, on which the user waits. */
const firstAnswerMsMax = 10_000

/** Undefined if the browser refuses to store anything: then the next load forgets everything. */
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

export function endSession(): void {
  storage()?.removeItem(storageName)
}

/**
 * Opens links of this page so that the new tab has its key, if someone asks for another tab or window: by the middle button,
 * or with Ctrl, Command or Shift. Browsers copy the storage only for an opener, which such a link does not have. The page
 * that is opened is this one, and gives up its opener as it begins: neither can then direct the other.
 */
export function shareWithOpenedTabs(): void {
  window.opener = null
  const open = (event: MouseEvent): void => {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a[href^="#"]') : null
    const isForOther = event.button === 1 || (event.button === 0 && (event.ctrlKey || event.metaKey || event.shiftKey))
    // A browser that forbids it opens the link in its own way, and the new tab asks for a key.
    if (isForOther && link !== null && window.open(link.href) !== null) event.preventDefault()
  }
  addEventListener('click', open)
  addEventListener('auxclick', open)
}

/** Accepts the word that precedes the key in a header. */
export function keyIn(text: string): string {
  return text.trim().replace(/^(apikey|bearer)\s+/i, '')
}

/** @throws as `ask`, for an unknown key too; RangeError if the key is malformed */
export async function beginSession(key: string): Promise<Session> {
  if (/\s/.test(key)) throw new RangeError('This is not an API key: it contains a space.')
  if (!/^[\x21-\x7e]+$/.test(key)) throw new RangeError('This is not an API key: it contains invalid characters.')
  // Relative to the page, so that a base path and a proxy's prefix are right.
  const base = new URL('.', document.baseURI).href.replace(/\/$/, '')
  const caller = { base, authorization: `Apikey ${key}`, client: connect(base, { key, timeoutMs }) }
  const described = await ask<KeyDescription>(caller, 'key', undefined, firstAnswerMsMax)
  if (!Array.isArray(described.allow) || !Array.isArray(described.under)) throw foreign()
  storage()?.setItem(storageName, key)
  return { ...caller, key: described }
}

const foreign = (): RangeError => new RangeError('Something other than topicd responded.')

/** Undefined if the service does not tell them: to a restricted key, or as an earlier version. */
export async function readOverview(session: Session): Promise<Overview | undefined> {
  const { under, admin } = session.key
  return under.length > 0 || admin === undefined ? undefined : ask<Overview>(session, 'overview').catch(() => undefined)
}

/**
 * Sends a request that only the console makes.
 *
 * @param body undefined for a GET
 * @throws TopicdError for a refusal; TypeError without a connection; RangeError for an answer of another program
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

/** Undefined if this browser cannot reach it. */
export function servicePageOf({ admin }: KeyDescription): string | undefined {
  return admin && urlOf({ scheme: 'http', ...admin, path: '/' }, location.hostname)
}

/** @param path undefined for any topic */
export function may({ allow, under }: KeyDescription, operation: Operation, path?: string): boolean {
  if (!allow.includes(operation)) return false
  if (path === undefined || under.length === 0) return true
  return under.some((subtree) => path === subtree || path.startsWith(`${subtree}/`))
}
