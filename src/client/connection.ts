/**
 * One request and its answer: headers, time limit, the one repetition, and how an answer becomes a result or a
 * TopicdError. The routes are in client.ts.
 *
 * A request is retried at most once, and only if its connection failed: if it was never sent, or if carrying it
 * out twice does no harm. Answers are never a reason to repeat.
 */
import { readAnswer, refusalOf, TopicdError } from './error.js'
import { bodyText } from './json-text.js'
import { controllerWithin } from './wait.js'

export interface ConnectOptions {
  readonly key: string
  /** In place of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined
  /** A request without a complete answer after this long fails with a TimeoutError. No limit by default. */
  readonly timeoutMs?: number | undefined
}

/** The maximum of a timer. */
const timeoutMsMax = 2 ** 31 - 1

export interface RequestOptions {
  /** Ends the request when it is aborted; the promise is rejected with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

interface Exchange<Result> {
  readonly signal: AbortSignal | undefined
  readonly isRepeatable: boolean
  /** @throws SyntaxError if the text of a 200 is not the route's */
  readonly read: (text: string) => Result
}

export interface Connection {
  post<Result>(route: string, members: object, exchange: Exchange<Result>): Promise<Result>
  /** Sends once. @returns the lines of the answer @throws TopicdError when all are refused; what `fetch` throws */
  sendLines(route: string, lines: string, signal: AbortSignal | undefined): Promise<string>
  /** Sends once, without `timeoutMs`; read as it arrives. @throws TopicdError on a refusal; as `overNetwork` */
  open(route: string, members: object, accept: string, signal: AbortSignal): Promise<Response>
  /** Undefined for no limit. */
  readonly timeoutMs: number | undefined
  readonly origin: string
}

/** A connection has failed, so another attempt may succeed; `cause` says how. */
export class ConnectionLost extends Error {
  constructor(override readonly cause: unknown) {
    super('the connection was lost')
  }
}

/** `fetch` never throws these for a failure of the network: a caller's own `fetch` has a defect. */
const defects: readonly unknown[] = ['SyntaxError', 'ReferenceError', 'RangeError']

/** @throws the signal's reason once it is aborted; ConnectionLost for what `fetch` throws; a defect as it is */
export async function overNetwork<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof TopicdError) throw error
    throw defects.includes(memberOf(error, 'name')) ? error : new ConnectionLost(error)
  }
}

const linesType = 'application/x-ndjson'

/** Sends nothing yet. @throws as `connect` */
export function createConnection(url: string, options: ConnectOptions): Connection {
  const base = `${serviceAt(url)}/topics/`
  const headers = { authorization: `Apikey ${keyIn(options)}`, 'content-type': 'application/json' }
  // Without the type to accept, an answer lists only the first of many refusals.
  const lineHeaders = { ...headers, 'content-type': linesType, accept: linesType }
  const { fetch = globalThis.fetch, timeoutMs } = options
  if (timeoutMs !== undefined && !(timeoutMs >= 1 && timeoutMs <= timeoutMsMax)) {
    throw new RangeError(`timeoutMs must be from 1 to ${timeoutMsMax}, not ${timeoutMs}; leave it out for no limit`)
  }
  // Not a method of an object: a browser's `fetch` refuses any other `this`.
  const send = (route: string, headers: Readonly<Record<string, string>>, body: string, signal: AbortSignal | null) =>
    fetch(base + route, { method: 'POST', headers: new Headers(headers), body, signal })
  return {
    timeoutMs,
    origin: new URL(base).origin,
    async post(route, members, { signal, isRepeatable, read }) {
      const body = bodyText(members)
      const text = await withinTime(timeoutMs, signal, async (signal) => {
        const attempt = async () => textOf(await send(route, headers, body, signal), members)
        return attempt().catch((error) => {
          if (signal?.aborted || !mayRepeat(error, isRepeatable)) throw error
          return attempt()
        })
      })
      return readAnswer(text, read)
    },
    sendLines: (route, lines, signal) =>
      withinTime(timeoutMs, signal, async (signal) => textOf(await send(route, lineHeaders, lines, signal))),
    async open(route, members, accept, signal) {
      const body = bodyText(members)
      return overNetwork(signal, async () => {
        const response = await send(route, { ...headers, accept }, body, signal)
        if (response.status !== 200) await textOf(response, members)
        return response
      })
    },
  }
}

/** Without a slash at the end. @throws TypeError for a text that is not an http or https URL */
function serviceAt(url: string): string {
  try {
    const { protocol, origin, pathname, href } = new URL(url)
    // Of `localhost:8080`, a URL with another scheme, a browser would make a path of the page's own origin.
    const isHttp = protocol === 'http:' || protocol === 'https:'
    // Anything else in it would be dropped: a user, a query.
    if (isHttp && href === origin + pathname) return href.replace(/\/+$/, '')
  } catch {}
  throw new TypeError(`not an http or https URL with nothing but a host, a port and a path: ${url}`)
}

/** Trims space from a file or shell. Plain JavaScript may omit options. @throws TypeError without showing the key */
function keyIn(options: Partial<ConnectOptions> | undefined): string {
  const key: unknown = options?.key
  if (key === undefined || key === null || key === '')
    throw new TypeError('the API key is missing: connect(url, { key }) needs it as "key"')
  if (typeof key !== 'string') throw new TypeError(`"key", the API key, must be a string, not a ${typeof key}`)
  const trimmed = key.trim()
  if (!/^[\x21-\x7e]+$/.test(trimmed)) throw new TypeError('"key" contains a character that no API key has')
  return trimmed
}

/** @param members of the request @throws TopicdError for a refusal */
async function textOf(response: Response, members: { readonly selector?: unknown } = {}): Promise<string> {
  const text = await response.text()
  if (response.status !== 200) throw refusalOf(response, text, members.selector)
  return text
}

/** Node.js's codes for an open connection that is closed before the answer is complete. */
const lostCodes: readonly unknown[] = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']

/** Browsers give no code, and never say what failed. */
function mayRepeat(error: unknown, isRepeatable: boolean): boolean {
  const code = memberOf(error, 'code') ?? memberOf(memberOf(error, 'cause'), 'code')
  // Nothing has been sent.
  if (code === 'ECONNREFUSED') return true
  return isRepeatable && (code === undefined ? memberOf(error, 'name') === 'TypeError' : lostCodes.includes(code))
}

/** Not `instanceof Error`: a `fetch` of another realm, as in some test runners, throws errors of that realm. */
function memberOf(error: unknown, name: 'name' | 'code' | 'cause'): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined
}

/** Leaves no timer or listener behind, unlike `fetch`, AbortSignal.timeout and AbortSignal.any. */
async function withinTime<Result>(
  timeoutMs: number | undefined,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal | null) => Promise<Result>,
): Promise<Result> {
  if (timeoutMs === undefined && signal === undefined) return work(null)
  signal?.throwIfAborted()
  const controller = controllerWithin(signal)
  const giveUp = () => controller.abort(new DOMException(`no response within ${timeoutMs} ms`, 'TimeoutError'))
  const timer = timeoutMs === undefined ? undefined : setTimeout(giveUp, timeoutMs)
  try {
    return await work(controller.signal)
  } finally {
    clearTimeout(timer)
    controller.abort()
  }
}
