/**
 * The types between the HTTP layer and the service that it serves. The HTTP layer knows requests, bodies and bytes, and
 * nothing of topics.
 *
 * How failures are told in this folder: what is wrong with a request is an `Answer`, which the service makes for a `Refusal`,
 * a value. What is ours or the machine's is an exception: one from a handler becomes an answer by `answerForError`, and one
 * while the server starts ends the start.
 */

/** A whole answer. The bytes of one that is known at once are sent, or copied, before anything else runs. */
export interface Answer {
  readonly status: number
  /** JSON, UTF-8. */
  readonly body: Uint8Array | string
  /** In an answer to HEAD, whose body is empty: the length of the body that a GET would have got. */
  readonly bodyBytesUnsent?: number
  readonly headers?: readonly (readonly [name: string, value: string])[]
  /** Why the request was refused, as one word for metrics and the access log; undefined when it was not. */
  readonly cause?: string
}

/** Tells long work whether its request has been given up: the client has gone, or the answer has timed out. */
export interface Cancellation {
  readonly cancelled: boolean
}

/** One POST route. `Caller` is what `authenticate` returns for an authorization header. */
export interface Route<Caller> {
  /** The whole path, base path included. */
  readonly path: string
  /**
   * Answers one request.
   *
   * @param body the bytes as sent, valid only until the first await
   * @throws whatever `answerForError` accepts
   */
  handle(body: Buffer, caller: Caller, cancellation: Cancellation): Answer | Promise<Answer>
}

/** One page that is read by GET or HEAD: it needs no key, reads no body and changes nothing. */
export interface Page {
  /** The whole path, base path included. */
  readonly path: string
  read(request: PageRequest): Answer
}

/** What a page learns of the request for it. */
export interface PageRequest {
  /** Whether this process is stopping: it answers what arrives, and accepts no more connections. */
  readonly draining: boolean
  /** `http` or `https`, as the client sees it: a proxy's `x-forwarded-proto` counts. */
  readonly scheme: 'http' | 'https'
  /** The `host` header, unchecked. */
  readonly host: string
}

/** A request that has been answered, valid only during the call. */
export interface Answered<Caller> {
  /** Undefined for a request that matched no route. */
  readonly route: Route<Caller> | undefined
  /**
   * When its headers arrived or, if it waited for its answer, when waiting began, in ms of performance.now(). NaN if untimed:
   * reading the clock costs as much as everything else that is counted of a request.
   */
  readonly startMs: number
  /** Whether it was answered in a later turn than it arrived in. */
  readonly waited: boolean
  readonly bytesIn: number
  /** Undefined when the caller is unknown, or was not looked up. */
  readonly caller: Caller | undefined
}

/** What the HTTP layer serves. */
export interface Service<Caller> {
  readonly routes: readonly Route<Caller>[]
  readonly pages: readonly Page[]
  /**
   * Who is calling, by the value of the authorization header; undefined for an unknown caller. Called before any of the body is
   * read, and again when the end of a body arrives later than the headers: the key may have been revoked meanwhile.
   */
  authenticate(authorization: string): Caller | undefined
  /**
   * The answers that the HTTP layer gives by itself, in the service's words.
   *
   * @param found what the answer names: for `unauthorized` the authorization header, for `method_not_allowed` the methods that
   *   are allowed, for `unsupported_encoding` the encoding
   */
  refusal(refusal: Refusal, found?: string): Answer
  /** The answer to a request whose handler threw; undefined when nobody waits for it any more. */
  answerForError(error: unknown): Answer | undefined
  /** Called for each answer, for metrics and the access log. */
  answered(request: Answered<Caller>, answer: Answer): void
  /** Called for each connection that was closed without an answer, or before all of it was read, and why. */
  closed(cause: CloseCause): void
}

export type Refusal =
  | 'invalid_framing'
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

export type CloseCause = 'connections' | 'unread'
