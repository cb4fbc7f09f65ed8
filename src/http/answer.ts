/**
 * The types between the HTTP layer and the service that it serves. The HTTP layer handles requests, bodies and bytes,
 * never topics.
 *
 * Errors in this folder: a fault of the request is a `Refusal`, a value, for which the service makes the `Answer`. A
 * fault of ours or of the machine is an exception: `answerForError` turns one from a handler into an answer, and one
 * during the start makes it fail.
 */
import type { Cancellation } from '../base/cancellation.js'

/** A complete answer. If a handler returns it synchronously, its bytes are sent or copied before anything else runs. */
export interface Answer {
  readonly status: number
  /** JSON, UTF-8, unless `contentType` says otherwise; empty in a 204. */
  readonly body: Uint8Array | string
  readonly contentType?: string
  /** In an answer to HEAD, whose body is empty: the length of the body that a GET would get. */
  readonly bodyBytesUnsent?: number
  readonly headers?: readonly (readonly [name: string, value: string])[]
  /** The rest of the body, of any length; `body` is empty then. */
  readonly stream?: Stream
  /** How much of the time until the answer was waited on purpose, in ms: it counts as the client's. */
  readonly waitedMs?: number
  /** Why the request was refused, as one word for metrics and the access log; undefined when it was not. */
  readonly cause?: string
}

/** The room for answers that clients have not read, shared by all who create answers in this process. */
export interface AnswerRoom {
  bytesFree: number
}

export interface Stream {
  /** Without meaning between two pieces. */
  readonly filler: Uint8Array
  /** Called once, when the head has been sent. */
  begin(outlet: Outlet): void
  onWritable(): void
  /** Called once: the client has gone, or the body has ended. */
  onGone(): void
}

/** Where the pieces go. After the end, nothing more is sent. */
export interface Outlet {
  /** Sends a piece, all of it; returns whether the client takes more at the moment. What it does not take is kept. */
  send(piece: Uint8Array): boolean
  /** Ends the body after this piece, a small one. */
  end(piece: Uint8Array): void
  /** Closes the connection immediately. */
  close(): void
}

/** A body that is carried out as it arrives, in pieces of any size. */
export interface Upload {
  /** Its body may be a stream that goes on while more arrives. */
  readonly answer: Promise<Answer>
  /** Bytes valid only during the call, which must be short: it holds up the library. Soon none come until `resume`. */
  take(piece: Uint8Array): void
  /** Nothing follows: that was all, or the rest is refused. */
  end(refusal?: UploadRefusal): void
}

export type UploadRefusal = 'body_too_large' | 'draining' | 'upload_timed_out'

/** Where the pieces of an upload come from. */
export interface Inlet {
  resume(): void
  /** No more of it is taken: the rest of the body is dropped. */
  drop(): void
  /** The upload is over, and so is its answer if that is a stream. */
  close(): void
}

/** Headers that a route may ask for, unchecked; empty where the request has none. */
export interface RouteHeaders {
  readonly accept: string
  readonly acceptEncoding: string
  readonly authorization: string
  readonly contentLength: string
  readonly lastEventId: string
}

/** Where a request came from: the other end of the connection, perhaps a proxy, and what anyone can send. */
export interface Sender {
  readonly address: string
  /** The header `x-forwarded-for`; empty where the request has none, as the one below. */
  readonly forwardedFor: string
  readonly authorization: string
}

/** Cancelled if the client has gone, or the answer timed out. An AbortSignal for each would cost microseconds. */
export interface Ongoing extends Cancellation {
  /** Undefined unless the route asks for them. */
  readonly headers: RouteHeaders | undefined
  /** Undefined unless the route is for the same origin. */
  readonly sender: Sender | undefined
  /** To be set by the handler; called once `aborted` is set. */
  onAborted: (() => void) | undefined
}

/** One POST route. `Caller` is what `authenticate` returns for an authorization header. */
export interface Route<Caller> {
  /** The whole path, base path included. */
  readonly path: string
  /** True if its requests change nothing, so that they may be refused even once their answers are known. */
  readonly isRead: boolean
  readonly asksHeaders?: boolean
  /** True to refuse requests from other origins' pages, whatever the policy on origins says (same-origin.ts). */
  readonly sameOrigin?: boolean
  /** @param body as sent, valid only until the first await @throws anything: `answerForError` gives the answer */
  handle(body: Buffer, caller: Caller, ongoing: Ongoing): Answer | Promise<Answer>
  /** Begins to take a body of lines, application/x-ndjson; undefined for a route that takes none. It gets the headers. */
  readonly upload?: ((ongoing: Ongoing, inlet: Inlet) => Upload) | undefined
}

/** One page that is read by GET or HEAD: it reads no body and changes nothing. */
export interface Page {
  /** The whole path, base path included; ending in `/*`, everything below it that is no other page. */
  readonly path: string
  /** As in `Route`. */
  readonly sameOrigin?: boolean
  read(request: PageRequest): Answer | Promise<Answer>
}

export interface PageRequest {
  /** True if this process is stopping: it answers what arrives, and accepts no more connections. */
  readonly draining: boolean
  /** `http` or `https`, as the client sees it: a proxy's `x-forwarded-proto` counts. */
  readonly scheme: 'http' | 'https'
  /** The path of the request, without a query. */
  readonly path: string
  /** These headers, unchecked; empty where the request has none. */
  readonly host: string
  readonly authorization: string
  readonly ifNoneMatch: string
  readonly acceptEncoding: string
}

/** A request that has been answered, valid only during the call. */
export interface Answered<Caller> {
  /** Undefined for a request that matched no route. */
  readonly route: Route<Caller> | undefined
  /** When its headers arrived, or its wait for the answer began, in ms of performance.now(). */
  readonly startMs: number
  readonly endMs: number
  readonly bytesIn: number
  /** Undefined when the caller is unknown, or was not looked up. */
  readonly caller: Caller | undefined
}

export interface Service<Caller> {
  readonly routes: readonly Route<Caller>[]
  readonly pages: readonly Page[]
  /** Called before the body is read, and again if its end arrives later: the key may have been revoked meanwhile. */
  authenticate(authorization: string): Caller | undefined
  /** Undefined if the request may proceed, which then counts. Called once for each, before its body is read. */
  refuseBeyondRate(caller: Caller): Answer | undefined
  /**
   * @param found what the answer names: for `unauthorized` the authorization header, for `method_not_allowed` the
   *   allowed methods, for `unsupported_encoding` the encoding, for `body_too_large` the largest number of bytes
   */
  refusal(refusal: Refusal, found?: string): Answer
  /** Undefined for `Cancelled`, which a handler throws only when its client has gone. */
  answerForError(error: unknown): Answer | undefined
  /** Called for each answer, for metrics and the access log. */
  answered(request: Answered<Caller>, answer: Answer): void
  /** Called when a connection closes before its answer was sent or read. @param request undefined if no route saw it */
  closed(cause: CloseCause, request?: Answered<Caller>): void
}

export type Refusal =
  | 'invalid_framing'
  | 'cross_origin'
  | 'unauthorized'
  | 'unknown_route'
  | 'method_not_allowed'
  | 'length_required'
  | 'body_too_large'
  | 'empty_body'
  | 'unsupported_media_type'
  | 'unsupported_encoding'
  | 'expectation_failed'
  | 'overloaded'
  | 'timed_out'

/** With `bytes_behind`, the library has closed it, because of what followed a request in the same bytes. */
export type CloseCause = 'connections' | 'unread' | 'bytes_behind'
