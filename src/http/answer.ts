/**
 * What the HTTP layer sends and what it asks of those who answer. It knows requests, bodies and bytes; nothing of topics.
 */

/** A whole answer. The bytes of one that is given at once are sent, or copied, before anything else runs. */
export interface Answer {
  readonly status: number
  /** JSON, UTF-8. */
  readonly body: Uint8Array | string
  /** In an answer to HEAD, whose body is empty: the length of the one that a GET would have got. */
  readonly bodyBytesUnsent?: number
  readonly headers?: readonly (readonly [name: string, value: string])[]
  /** Why the request was refused, in a word, for metrics and the access log; undefined when it was not. */
  readonly cause?: string
}

/** Tells long work whether its request has been given up: the client has gone, or the answer has timed out. */
export interface Cancellation {
  readonly cancelled: boolean
}

/** One POST route. `Caller` is whatever `admit` makes of the authorization header. */
export interface Route<Caller> {
  /** The whole path, base path included. */
  readonly path: string
  /**
   * Answers one request.
   *
   * @param body the bytes as sent, good only until the first await
   * @throws whatever `failed` can make an answer of
   */
  handle(body: Buffer, caller: Caller, cancellation: Cancellation): Answer | Promise<Answer>
}

/** One page that is read by GET or HEAD: no key is asked for, no body is read, and nothing is changed. */
export interface Page {
  /** The whole path, base path included. */
  readonly path: string
  read(asked: Asked): Answer
}

/** What a page is told of the request for it. */
export interface Asked {
  /** Whether this process is ending: it answers what comes, and accepts no more connections. */
  readonly draining: boolean
  /** `http` or `https`, as the client sees it: a proxy's `x-forwarded-proto` counts. */
  readonly scheme: 'http' | 'https'
  /** The `host` header, unchecked. */
  readonly host: string
}

/** A request that has been answered, good only during the call. */
export interface Answered<Caller> {
  /** Undefined for a request that no route took. */
  readonly route: Route<Caller> | undefined
  /**
   * When its headers had come or, for one that waited for its answer, when it began to wait, in ms of performance.now(). NaN
   * when nobody looked: the clock costs as much as everything else that is counted of a request.
   */
  readonly startMs: number
  /** Whether it was answered later than in the turn in which it came. */
  readonly waited: boolean
  readonly bytesIn: number
  /** Undefined for a caller that was not admitted, or not asked for. */
  readonly caller: Caller | undefined
}

/** What the HTTP layer is given to serve. */
export interface Service<Caller> {
  readonly routes: readonly Route<Caller>[]
  readonly pages: readonly Page[]
  /**
   * Who is calling, by the value of the authorization header, or undefined. Asked before anything of the body is read, and
   * again when the last of a body comes later than the headers: the caller may have lost the right meanwhile.
   */
  authenticate(authorization: string): Caller | undefined
  /**
   * The answers that the HTTP layer gives by itself, in the service's words.
   *
   * @param found what the answer names: the authorization header of one that is unauthorized, the methods that a
   *   method_not_allowed may use instead, the encoding that is not supported
   */
  refusal(refusal: Refusal, found?: string): Answer
  /** The answer to a request whose handler failed; undefined when nobody waits for it any more. */
  answerForError(error: unknown): Answer | undefined
  /** Told of each answer, for metrics and the access log. */
  answered(request: Answered<Caller>, answer: Answer): void
  /** Told of each connection that was closed without an answer, and why. */
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
