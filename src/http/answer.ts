/**
 * The types that the HTTP layer and the service share. The HTTP layer handles requests, bodies and bytes, never topics.
 *
 * Errors in this folder: a fault in the request is a `Refusal`, a value for which the service creates the `Answer`. A
 * fault in our code or in the machine is an exception. `answerForError` turns an exception in a handler into a response;
 * an exception during startup makes it fail.
 */
import type { Cancellation } from '../base/cancellation.js'

/** A complete response. If a handler returns it synchronously, its bytes are sent or copied before anything else runs. */
export interface Answer {
  readonly status: number
  /** JSON in UTF-8 unless `contentType` is set; empty for status 204. */
  readonly body: Uint8Array | string
  readonly contentType?: string
  /** In the response to a HEAD request: the length of the body that a GET would return; `body` is then empty. */
  readonly bodyBytesUnsent?: number
  readonly headers?: readonly (readonly [name: string, value: string])[]
  /** Streams a body of any length; `body` is then empty. */
  readonly stream?: Stream
  /** Intended waiting time before the response, in ms; not counted as the service's time. */
  readonly waitedMs?: number
  /** The reason for a rejection, as one word for metrics and the access log; undefined if the request was accepted. */
  readonly cause?: string
}

/** The room for responses that clients have not read, shared by all code that creates responses in this process. */
export interface AnswerRoom {
  bytesFree: number
}

export interface Stream {
  /** Bytes that have no meaning between two pieces. */
  readonly filler: Uint8Array
  /** Called once, after the head has been written. */
  begin(outlet: Outlet): void
  onWritable(): void
  /** Called once, when the client has disconnected or the body has ended. */
  onGone(): void
}

/** Takes the pieces of a stream. Nothing is sent after the end. */
export interface Outlet {
  /** Sends a whole piece; bytes that the client does not take are buffered. @returns whether the client takes more now */
  send(piece: Uint8Array): boolean
  /** Ends the body after this piece, which must be small. */
  end(piece: Uint8Array): void
  /** Closes the connection immediately. */
  close(): void
}

/** A body that is executed as it arrives, in pieces of any size. */
export interface Upload {
  /** The body of the response may be a stream that continues while more pieces of the upload arrive. */
  readonly answer: Promise<Answer>
  /**
   * Must return quickly: it blocks the library. The bytes are valid only during the call. Soon after a call, pieces
   * stop arriving until `resume` is called.
   */
  take(piece: Uint8Array): void
  /** Called at the end of the body, or when the rest is rejected; no pieces follow. */
  end(refusal?: UploadRefusal): void
}

export type UploadRefusal = 'body_too_large' | 'draining' | 'upload_timed_out'

/** Controls the arrival of an upload's pieces. */
export interface Inlet {
  resume(): void
  /** Drops the rest of the body. */
  drop(): void
  /** Must be called once the upload is over and, if its response is a stream, once the stream is over too. */
  close(): void
}

/** Headers that a route may request, unchecked; empty if missing. */
export interface RouteHeaders {
  readonly accept: string
  readonly acceptEncoding: string
  readonly authorization: string
  readonly contentLength: string
  readonly lastEventId: string
}

/** The sender of a request. `address` is the other end of the connection, perhaps a proxy; clients can fake the headers. */
export interface Sender {
  readonly address: string
  /** The header `x-forwarded-for`; empty if missing, like `authorization`. */
  readonly forwardedFor: string
  readonly authorization: string
}

/** Cancelled if the client disconnects or the request times out. An AbortSignal per request would cost microseconds. */
export interface Ongoing extends Cancellation {
  /** Set for uploads and for routes with `asksHeaders`. */
  readonly headers: RouteHeaders | undefined
  /** Set for routes with `sameOrigin`. */
  readonly sender: Sender | undefined
  /** Set by the handler; called when `aborted` becomes true. */
  onAborted: (() => void) | undefined
}

/** One POST route. `Caller` is the type that `authenticate` returns for an authorization header. */
export interface Route<Caller> {
  /** The whole path, base path included. */
  readonly path: string
  /** True if its requests change nothing, so a request may be rejected even after its response is known. */
  readonly isRead: boolean
  readonly asksHeaders?: boolean
  /** True to reject requests from pages of other origins, regardless of the policy on origins (same-origin.ts). */
  readonly sameOrigin?: boolean
  /** @param body as sent, valid only until the first await @throws any error, which `answerForError` turns into a response */
  handle(body: Buffer, caller: Caller, ongoing: Ongoing): Answer | Promise<Answer>
  /**
   * Starts receiving a body that consists of lines (application/x-ndjson); undefined if the route takes no such body.
   * `ongoing.headers` is always set.
   */
  readonly upload?: ((ongoing: Ongoing, inlet: Inlet) => Upload) | undefined
}

/** One page for GET and HEAD: it reads no body and changes nothing. */
export interface Page {
  /** The whole path, base path included. If it ends in `/*`, it covers every path below, except those of other pages. */
  readonly path: string
  /** As in `Route`. */
  readonly sameOrigin?: boolean
  read(request: PageRequest): Answer | Promise<Answer>
}

export interface PageRequest {
  /** True if this process is stopping: it still answers requests, but accepts no more connections. */
  readonly draining: boolean
  /** The scheme that the client used: a proxy's `x-forwarded-proto` takes precedence. */
  readonly scheme: 'http' | 'https'
  /** The path of the request, without the query. */
  readonly path: string
  /** `host` and the members below it: headers, unchecked; empty if missing. */
  readonly host: string
  readonly authorization: string
  readonly ifNoneMatch: string
  readonly acceptEncoding: string
}

/** An answered or lost request, valid only during the call that passes it. */
export interface Answered<Caller> {
  /** Undefined for a request that matched no route. */
  readonly route: Route<Caller> | undefined
  /** The time at which its headers arrived or, if later, the wait for the response started, in ms of performance.now(). */
  readonly startMs: number
  readonly endMs: number
  readonly bytesIn: number
  /** Undefined if the caller is unknown or was not looked up. */
  readonly caller: Caller | undefined
}

export interface Service<Caller> {
  readonly routes: readonly Route<Caller>[]
  readonly pages: readonly Page[]
  /** Called before the body is read, and again after a body that is chunked or in pieces: the key may have been revoked. */
  authenticate(authorization: string): Caller | undefined
  /** Undefined if the request may proceed; it then counts towards the rate. Called once per request, before its body is read. */
  refuseBeyondRate(caller: Caller): Answer | undefined
  /**
   * @param found the detail for the response: for `unauthorized` the authorization header, for `method_not_allowed` the
   *   allowed methods, for `unsupported_encoding` the encoding, for `body_too_large` the maximum number of bytes
   */
  refusal(refusal: Refusal, found?: string): Answer
  /** Undefined for `Cancelled`, which a handler throws only if the client has disconnected or the request has timed out. */
  answerForError(error: unknown): Answer | undefined
  /** Called for each response, for metrics and the access log. */
  answered(request: Answered<Caller>, answer: Answer): void
  /** Called for each connection closed before its response was sent or read. @param request the lost request; only for `bytes_behind` */
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

/** `bytes_behind`: the library closed the connection because of the bytes that followed a request in the same read. */
export type CloseCause = 'connections' | 'unread' | 'bytes_behind'
