/** One request for changes, as a stream of events or as a page, and how it fails. Retries are for page-stream.ts. */
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
  /** Undefined where it belongs to the walk of another selector. */
  readonly next: string | undefined
}

const eventStream = 'text/event-stream'

/** The service sends the first piece immediately. If it takes longer, in ms, something holds the stream back. */
const firstPieceMsMax = 5000

/** The service sends something every 15 s, so a stream that is silent for this long, in ms, is dead. */
const silenceMsMax = 40_000

/** The first piece of a poll's answer may take this long beyond the poll's wait. */
const pollWayMsMax = 10_000

/** A poll that does not wait may still search: the service gives up after 120 s. */
const searchMsMax = 130_000

/** Applies unless the service specifies a wait. */
const retryMsDefault = 500

/** Something on the way holds streams back. */
export class HeldBack extends Error {}

/** A stream that has ended, and can be resumed. */
export class Ended extends Error {
  readonly waitMs: number

  /** @param retryMs the maximum that the service has specified; 0 for immediately */
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

  /** The service waits for something on it if `members` say so. @throws as `#pieces` */
  async page(): Promise<ChangesPage> {
    const { wait = 0 } = this.members
    let text = ''
    for await (const piece of this.#pieces('application/json', wait > 0 ? wait * 1000 + pollWayMsMax : searchMsMax))
      text += piece
    return readAnswer(text, pageOf)
  }

  /** @throws Ended at its end; HeldBack if nothing arrives; otherwise as `#pieces` */
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
        // While the caller is busy, silence is its own.
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

/** @throws SyntaxError for a text that is not a page of changes */
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
  // Streams rotate at different times, so those of many clients do not come back together.
  return new Ended(message, code === 'rotated' ? 0 : retryMs)
}

function silent(ms: number): ConnectionLost {
  return new ConnectionLost(new Error(`no response within ${ms / 1000} s`))
}
