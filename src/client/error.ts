/** The error for every unexpected response. If there is no response, a request fails with the error that `fetch` throws. */
import type { ErrorAnswer } from '../api/answers.js'
import { selectorFor } from './selectors.js'

/** The service's codes, and `unexpected_answer` for a response from elsewhere, such as a proxy. */
type ErrorCode = ErrorAnswer['code'] | 'unexpected_answer' | (string & Record<never, never>)

interface Details {
  readonly operation?: number | undefined
  readonly retryAfterSeconds?: number | undefined
  readonly hint?: string | undefined
}

/** Thrown if the service rejects the request, or if the response is not from the service. */
export class TopicdError extends Error {
  override readonly name = 'TopicdError'
  /** The index of the operation that made the service reject a batch. */
  readonly operation: number | undefined
  /** The number of seconds to wait before a retry, if a 429 or 503 specifies it. */
  readonly retryAfterSeconds: number | undefined
  /** The client's own advice on a selector that uses another system's wildcards. */
  declare readonly hint?: string

  constructor(
    /** The HTTP status; 200 for a response that could not be read. */
    readonly status: number,
    readonly code: ErrorCode,
    message: string,
    { operation, retryAfterSeconds, hint }: Details = {},
  ) {
    super(message)
    this.operation = operation
    this.retryAfterSeconds = retryAfterSeconds
    if (hint !== undefined) this.hint = hint
  }
}

/** The error for a response with a status other than 200. @param selector the request's selector, if any */
export function refusalOf({ status, headers }: Response, text: string, selector: unknown): TopicdError {
  const retryAfter = headers.get('retry-after') ?? ''
  const retryAfterSeconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined
  const { code, message, operation } = problemIn(text)
  if (typeof code !== 'string' || typeof message !== 'string') {
    return new TopicdError(status, 'unexpected_answer', `The ${status} response has no error code.`, {
      retryAfterSeconds,
    })
  }
  return new TopicdError(status, code, message, {
    operation: typeof operation === 'number' ? operation : undefined,
    retryAfterSeconds,
    hint: code === 'invalid_selector' && typeof selector === 'string' ? hintFor(selector) : undefined,
  })
}

/** @throws TopicdError `unexpected_answer` if `read` throws a SyntaxError, because the text is not from the service */
export function readAnswer<Result>(text: string, read: (text: string) => Result): Result {
  try {
    return read(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new TopicdError(200, 'unexpected_answer', `The response could not be read: ${error.message}.`)
  }
}

function hintFor(selector: string): string | undefined {
  const meant = selectorFor(selector)
  return meant && `Wildcards are written differently in a selector; did you mean ${JSON.stringify(meant)}?`
}

/** The problem in a body; empty if the body is not a JSON object. */
function problemIn(text: string): { readonly [name in 'code' | 'message' | 'operation']?: unknown } {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? parsed : {}
  } catch {
    return {}
  }
}
