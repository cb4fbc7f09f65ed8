/**
 * One request and its response: headers, time limit, the single retry, and the conversion of a response to a result or a
 * TopicdError. The routes are in client.ts.
 *
 * A request is retried at most once: if its connection failed, and if either nothing was sent or applying it twice is
 * harmless. A response is never a reason to retry.
 */
import { readAnswer, refusalOf, TopicdError } from './error.js'
import { bodyText } from './json-text.js'
import { controllerWithin } from './wait.js'

export interface ConnectOptions {
  /** The API key: the token that `topicd keys add` printed. */
  readonly key: string
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch | undefined
  /** Time limit for a complete response, in ms, after which a request fails with a TimeoutError. No limit by default. */
  readonly timeoutMs?: number | undefined
}

/** The maximum delay of a timer. */
const timeoutMsMax = 2 ** 31 - 1

export interface RequestOptions {
  /** Cancels the request when aborted; the promise is rejected with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

interface Exchange<Result> {
  readonly signal: AbortSignal | undefined
  readonly isRepeatable: boolean
  /** @throws SyntaxError if the text of a 200 response does not have the route's format */
  readonly read: (text: string) => Result
}

export interface Connection {
  post<Result>(route: string, members: object, exchange: Exchange<Result>): Promise<Result>
  /** Sends once. @returns the lines of the response @throws TopicdError if the request is rejected; errors from `fetch` */
  sendLines(route: string, lines: string, signal: AbortSignal | undefined): Promise<string>
  /** Sends once, for a streamed response, which `timeoutMs` does not limit. @throws TopicdError if rejected; otherwise as `overNetwork` */
  open(route: string, members: object, accept: string, signal: AbortSignal): Promise<Response>
  /** Undefined if there is no limit. */
  readonly timeoutMs: number | undefined
  readonly origin: string
}

/** The connection failed, so another attempt may succeed. `cause` is the reason. */
export class ConnectionLost extends Error {
  constructor(override readonly cause: unknown) {
    super('the connection was lost')
  }
}

/** `fetch` never throws these for a network failure, so they indicate a defect in the caller's own `fetch`. */
const defects: readonly unknown[] = ['SyntaxError', 'ReferenceError', 'RangeError']

/** @throws the signal's reason once it is aborted; ConnectionLost for a network error; a defect unchanged */
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
  // Without this `accept`, the response to a large upload lists only the first rejections.
  const lineHeaders = { ...headers, 'content-type': linesType, accept: linesType }
  const { fetch = globalThis.fetch, timeoutMs } = options
  if (timeoutMs !== undefined && !(timeoutMs >= 1 && timeoutMs <= timeoutMsMax)) {
    throw new RangeError(`timeoutMs must be from 1 to ${timeoutMsMax}, but is ${timeoutMs}; omit it for no limit`)
  }
  // Called as a plain function: a browser's `fetch` rejects any other `this`.
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

/** The URL without a trailing slash. @throws TypeError if it is not an http or https URL */
function serviceAt(url: string): string {
  try {
    const { protocol, origin, pathname, href } = new URL(url)
    // `localhost:8080` is also a URL, but with the scheme `localhost:`, which no `fetch` supports.
    const isHttp = protocol === 'http:' || protocol === 'https:'
    // No other part is supported: `fetch` rejects a user name, and the route would end up in the query.
    if (isHttp && href === origin + pathname) return href.replace(/\/+$/, '')
  } catch {}
  throw new TypeError(`url must be an http or https URL with only a host, a port and a path, but is ${url}`)
}

/** Trims white space, which files and shells add. Callers without types may omit `options`. @throws TypeError without showing the key */
function keyIn(options: Partial<ConnectOptions> | undefined): string {
  const key: unknown = options?.key
  if (key === undefined || key === null || key === '')
    throw new TypeError('the API key is missing; pass it as "key": connect(url, { key })')
  if (typeof key !== 'string') throw new TypeError(`"key", the API key, must be a string, not a ${typeof key}`)
  const trimmed = key.trim()
  if (!/^[\x21-\x7e]+$/.test(trimmed))
    throw new TypeError('"key" contains a character that is not allowed in an API key')
  return trimmed
}

/** @param members the request's members @throws TopicdError if the request was rejected */
async function textOf(response: Response, members: { readonly selector?: unknown } = {}): Promise<string> {
  const text = await response.text()
  if (response.status !== 200) throw refusalOf(response, text, members.selector)
  return text
}

/** Node.js's error codes for a connection that closes before the response is complete. */
const lostCodes: readonly unknown[] = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']

/** Browsers give no code and never reveal the cause. */
function mayRepeat(error: unknown, isRepeatable: boolean): boolean {
  const code = memberOf(error, 'code') ?? memberOf(memberOf(error, 'cause'), 'code')
  // Nothing has been sent.
  if (code === 'ECONNREFUSED') return true
  return isRepeatable && (code === undefined ? memberOf(error, 'name') === 'TypeError' : lostCodes.includes(code))
}

/** Avoids `instanceof Error`: in some test runners, `fetch` is from another realm, and so are its errors. */
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
