/** One request for changes, as an event stream or a single page, and its errors. page-stream.ts retries. */
import type { ChangesBody } from '../../api/bodies/bodies.js'
import { type Connection, ConnectionLost, overNetwork } from '../connection.js'
import { readAnswer, TopicdError } from '../error.js'
import { type Item, itemOf } from '../item.js'
import { elementsOf, membersOf } from '../json-slices.js'
import { controllerWithin } from '../wait.js'
import { EventParser } from './event-stream.js'

export type Result =
  | { readonly kind: 'topic'; readonly path: string; readonly item: Item }
  | { readonly kind: 'removed'; readonly path: string }

export interface ChangesPage {
  readonly kind: 'page'
  readonly has_more: boolean
  readonly results: readonly Result[]
  /** The token to continue with; undefined if it belongs to another selector's initial walk. */
  readonly next: string | undefined
}

const eventStream = 'text/event-stream'

/** The service sends the first piece immediately. If none arrives within this time, in ms, a proxy is buffering the stream. */
const firstPieceMsMax = 5000

/** The service sends data at least every 15 s, so a stream that is silent for this long, in ms, is dead. */
const silenceMsMax = 40_000

/** Maximum time between the end of a poll's wait and the first piece of its response, in ms. */
const pollWayMsMax = 10_000

/** Time limit for a poll without a wait, in ms: the service may search the log for up to 120 s. */
const searchMsMax = 130_000

/** Default maximum wait before a stream is resumed, in ms. */
const retryMsDefault = 500

/** Something between the client and the service, such as a proxy, buffers the stream. */
export class HeldBack extends Error {}

/** The stream ended and can be resumed. */
export class Ended extends Error {
  readonly waitMs: number

  /** @param retryMs the maximum wait that the service specified; 0 to resume immediately */
  constructor(message: string, retryMs = retryMsDefault) {
    super(message)
    this.waitMs = retryMs * Math.random()
  }
}

export class Attempt {
  constructor(
    private readonly connection: Connection,
    private readonly members: ChangesBody,
    private readonly signal: AbortSignal,
    private readonly onPiece: () => void,
  ) {}

  /** Fetches one page; if `members` contains `wait`, the service waits for a change. @throws as `#pieces` */
  async page(): Promise<ChangesPage> {
    const { wait = 0 } = this.members
    let text = ''
    for await (const piece of this.#pieces('application/json', wait > 0 ? wait * 1000 + pollWayMsMax : searchMsMax))
      text += piece
    return readAnswer(text, pageOf)
  }

  /** @throws Ended at the end of the stream; HeldBack if no event stream arrives; otherwise as `#pieces` */
  async *pages(): AsyncGenerator<ChangesPage, never, undefined> {
    const parser = new EventParser()
    for await (const piece of this.#pieces(eventStream, firstPieceMsMax)) {
      for (const { event, data } of parser.push(piece)) {
        if (event === 'message') yield readAnswer(data, pageOf)
        if (event === 'end') throw endOf(data, parser.retryMs)
      }
    }
    throw new Ended('the stream has ended', parser.retryMs)
  }

  /** @throws ConnectionLost, also after a silence; TopicdError; the signal's reason */
  async *#pieces(accept: string, firstMsMax: number): AsyncGenerator<string, void, undefined> {
    const request = controllerWithin(this.signal)
    const isStream = accept === eventStream
    let timer: ReturnType<typeof setTimeout> | undefined
    const limit = (ms: number, reason: Error = silent(ms)) => {
      clearTimeout(timer)
      timer = setTimeout(() => request.abort(reason), ms)
    }
    try {
      limit(firstMsMax, isStream ? new HeldBack() : undefined)
      this.signal.throwIfAborted()
      const response = await this.connection.open('changes', this.members, accept, request.signal)
      const reader = response.body?.getReader()
      if (isStream && response.headers.get('content-type')?.startsWith(eventStream) !== true) throw new HeldBack()
      if (reader === undefined) return
      const decoder = new TextDecoder()
      for (;;) {
        const { done, value } = await overNetwork(request.signal, () => reader.read())
        // Stops the timer while the caller is busy.
        clearTimeout(timer)
        if (!done) this.onPiece()
        yield decoder.decode(value, { stream: !done })
        if (done) return
        limit(silenceMsMax)
      }
    } finally {
      clearTimeout(timer)
      request.abort()
    }
  }
}

/** @throws SyntaxError if the text is not a page of changes */
function pageOf(text: string): ChangesPage {
  const members = membersOf(text)
  const [has_more, next] = ['has_more', 'next'].map((name) => JSON.parse(members.get(name) ?? 'null') as unknown)
  if (typeof has_more !== 'boolean' || typeof next !== 'string') throw new SyntaxError('not a page of changes')
  return { kind: 'page', has_more, next, results: elementsOf(members.get('results') ?? '').map(resultOf) }
}

function resultOf(text: string): Result {
  const members = membersOf(text)
  if (members.has('removed')) return { kind: 'removed', path: JSON.parse(members.get('path') ?? 'null') as string }
  const item = itemOf(text)
  return { kind: 'topic', path: item.path, item }
}

function endOf(data: string, retryMs: number | undefined): Error {
  const { code, message } = readAnswer(data, JSON.parse) as { readonly code: string; readonly message: string }
  if (code === 'unauthorized') return new TopicdError(401, code, message)
  if (code === 'since_gone' || code === 'access_changed') return new TopicdError(410, 'since_gone', message)
  // Streams rotate at different times, so their clients do not all reconnect at once.
  return new Ended(message, code === 'rotated' ? 0 : retryMs)
}

function silent(ms: number): ConnectionLost {
  return new ConnectionLost(new Error(`no response within ${ms / 1000} s`))
}
