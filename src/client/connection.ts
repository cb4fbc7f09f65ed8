/**
 * One request and its answer: headers, time limit, the one repetition, and how an answer becomes a result or a
 * TopicdError. The routes are in client.ts.
 *
 * A request is retried at most once, and only if its connection failed: if it was never sent, or if carrying it
 * out twice does no harm. Answers are never a reason to repeat.
 */
import { readAnswer, refusalOf } from './error.js'
import { bodyText } from './json-text.js'

export interface ConnectOptions {
  /** The API key. */
  readonly key: string
  /** In place of the global `fetch`. */
  readonly fetch?: typeof fetch
  /** A request that has no complete answer after this long, in ms, fails with a TimeoutError. No limit by default. */
  readonly timeoutMs?: number | undefined
}

/** The longest time limit, in ms, that a timer can have. */
const timeoutMsMax = 2 ** 31 - 1

export interface RequestOptions {
  /** Ends the request when it is aborted; the promise is rejected with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** How a route's answer is read, and whether the request may be carried out twice. */
interface Exchange<Result> {
  readonly signal: AbortSignal | undefined
  readonly isRepeatable: boolean
  /** Reads the text of a 200; throws a SyntaxError if it is not what the route answers. */
  readonly read: (text: string) => Result
}

/** Sends a request to one of the routes. */
type Post = <Result>(route: string, members: object, exchange: Exchange<Result>) => Promise<Result>

/** How requests reach a service. */
export interface Connection {
  readonly post: Post
  /**
   * Sends lines to one of the routes, once.
   *
   * @returns the lines of the answer
   * @throws TopicdError when it is refused as a whole; what `fetch` throws
   */
  readonly sendLines: (route: string, lines: string, signal: AbortSignal | undefined) => Promise<string>
  /**
   * Asks one of the routes, once, for an answer that is read as it arrives; `timeoutMs` is none of its limits.
   *
   * @param accept the media type of the answer
   * @throws TopicdError when it is refused; as `overNetwork` does
   */
  readonly open: (route: string, members: object, accept: string, signal: AbortSignal) => Promise<Response>
  /** The time limit of a request, in ms; undefined for none. */
  readonly timeoutMs: number | undefined
  /** The scheme, host and port of the service. */
  readonly origin: string
}

/** A connection has failed, so another attempt may succeed; `cause` says how. */
export class ConnectionLost extends Error {
  constructor(override readonly cause: unknown) {
    super('the connection was lost')
  }
}

/** What `fetch` never throws for a failure of the network: a caller's own `fetch` has a defect. */
const defects: readonly unknown[] = ['SyntaxError', 'ReferenceError', 'RangeError']

/**
 * The part of a request that uses the network.
 *
 * @throws the signal's reason once it is aborted; ConnectionLost for what `fetch` throws; an error that is a defect as it is
 */
export async function overNetwork<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    signal.throwIfAborted()
    throw defects.includes(memberOf(error, 'name')) ? error : new ConnectionLost(error)
  }
}

/**
 * Prepares requests to a service; nothing is sent yet.
 *
 * @param url where the service is, with its base path if it has one
 * @throws TypeError for a text that is not an http or https URL, or a key that no header can contain; RangeError for a
 *   time limit that is not from 1 to `timeoutMsMax`
 */
export function createConnection(url: string, options: ConnectOptions): Connection {
  const base = `${serviceAt(url)}/topics/`
  const headers = new Headers({ authorization: `Apikey ${keyIn(options)}`, 'content-type': 'application/json' })
  const { fetch = globalThis.fetch, timeoutMs } = options
  if (timeoutMs !== undefined && !(timeoutMs >= 1 && timeoutMs <= timeoutMsMax)) {
    throw new RangeError(`timeoutMs must be from 1 to ${timeoutMsMax}, not ${timeoutMs}; leave it out for no limit`)
  }
  const post: Post = async (route, members, { signal, isRepeatable, read }) => {
    const body = bodyText(members)
    const answer = await withinTime(timeoutMs, signal, async (signal) => {
      // Not a method of an object: a browser's `fetch` refuses any other `this`.
      const attempt = async () => answerOf(await fetch(base + route, { method: 'POST', headers, body, signal }))
      try {
        return await attempt()
      } catch (error) {
        if (signal?.aborted || !mayRepeat(error, isRepeatable)) throw error
        return await attempt()
      }
    })
    return resultOf(answer, read, selectorIn(members))
  }
  const sendLines: Connection['sendLines'] = async (route, lines, signal) => {
    const lineHeaders = new Headers(headers)
    lineHeaders.set('content-type', 'application/x-ndjson')
    // Otherwise an answer lists only the first of many refusals.
    lineHeaders.set('accept', 'application/x-ndjson')
    const { status, retryAfter, text } = await withinTime(timeoutMs, signal, async (signal) =>
      answerOf(await fetch(base + route, { method: 'POST', headers: lineHeaders, body: lines, signal })),
    )
    if (status !== 200) throw refusalOf(status, retryAfter, text, undefined)
    return text
  }
  const open: Connection['open'] = async (route, members, accept, signal) => {
    const asking = new Headers(headers)
    asking.set('accept', accept)
    const request = { method: 'POST', headers: asking, body: bodyText(members), signal }
    const response = await overNetwork(signal, () => fetch(base + route, request))
    if (response.status === 200) return response
    const { status, retryAfter, text } = await overNetwork(signal, () => answerOf(response))
    throw refusalOf(status, retryAfter, text, selectorIn(members))
  }
  return { post, sendLines, open, timeoutMs, origin: new URL(base).origin }
}

/** The selector of a request, if it has one. */
function selectorIn(members: object): unknown {
  return 'selector' in members ? members.selector : undefined
}

/**
 * The service's URL without a slash at the end.
 *
 * @throws TypeError for a text that is not an http or https URL
 */
function serviceAt(url: string): string {
  try {
    const { protocol, origin, pathname } = new URL(url)
    // Of `localhost:8080`, a URL with another scheme, a browser would make a path of the page's own origin.
    if (protocol === 'http:' || protocol === 'https:') return origin + pathname.replace(/\/+$/, '')
  } catch {}
  throw new TypeError(`not an http or https URL: ${url}`)
}

/**
 * The API key, without the space around it that a file or a shell leaves there.
 *
 * @param options which plain JavaScript may leave out
 * @throws TypeError without a key that a header can contain; the message does not show it
 */
function keyIn(options: Partial<ConnectOptions> | undefined): string {
  const key: unknown = options?.key
  if (key === undefined || key === null || key === '')
    throw new TypeError('the API key is missing: connect(url, { key }) needs it as "key"')
  if (typeof key !== 'string') throw new TypeError(`"key", the API key, must be a string, not a ${typeof key}`)
  const trimmed = key.trim()
  if (!/^[\x21-\x7e]+$/.test(trimmed)) throw new TypeError('"key" contains a character that no API key has')
  return trimmed
}

interface Answer {
  readonly status: number
  readonly retryAfter: string | null
  readonly text: string
}

async function answerOf(response: Response): Promise<Answer> {
  return { status: response.status, retryAfter: response.headers.get('retry-after'), text: await response.text() }
}

/** @param selector of the request, if it has one */
function resultOf<Result>(
  { status, retryAfter, text }: Answer,
  read: (text: string) => Result,
  selector: unknown,
): Result {
  if (status !== 200) throw refusalOf(status, retryAfter, text, selector)
  return readAnswer(text, read)
}

/** What Node.js reports when a connection that was open is closed before the answer is complete. */
const lostCodes: readonly unknown[] = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']

/** Whether a request that failed like this may be sent again. Browsers give no code, and never say what failed. */
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

/**
 * Does the work with a signal of its own, which aborts with the caller's and after `timeoutMs`. Neither a timer nor a
 * listener is left behind, as `fetch`, AbortSignal.timeout and AbortSignal.any leave them.
 */
async function withinTime<Result>(
  timeoutMs: number | undefined,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal | null) => Promise<Result>,
): Promise<Result> {
  if (timeoutMs === undefined && signal === undefined) return work(null)
  signal?.throwIfAborted()
  const controller = new AbortController()
  const abort = () => controller.abort(signal?.reason)
  signal?.addEventListener('abort', abort)
  const giveUp = () => controller.abort(new DOMException(`no response within ${timeoutMs} ms`, 'TimeoutError'))
  const timer = timeoutMs === undefined ? undefined : setTimeout(giveUp, timeoutMs)
  try {
    return await work(controller.signal)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}
