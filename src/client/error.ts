/** The error for every unexpected answer. Without an answer, a request fails with what `fetch` threw. */
import type { ErrorAnswer } from '../api/answers.js'
import { selectorFor } from './selectors.js'

/** The service's codes, and `unexpected_answer` for an answer that is not the service's, such as a proxy's. */
type ErrorCode = ErrorAnswer['code'] | 'unexpected_answer' | (string & Record<never, never>)

interface Details {
  readonly operation?: number | undefined
  readonly retryAfterSeconds?: number | undefined
  readonly hint?: string | undefined
}

/** An answer that refuses the request, or that is not the service's. */
export class TopicdError extends Error {
  override readonly name = 'TopicdError'
  /** The index of the operation for which a batch was refused. */
  readonly operation: number | undefined
  /** A 429 or 503 may specify it. */
  readonly retryAfterSeconds: number | undefined
  /** Advice that only the client has: for a selector with the wildcards of other systems. */
  declare readonly hint?: string

  constructor(
    /** 200 for an answer that could not be read. */
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

/** For an answer with a status other than 200. @param selector of the request, if it has one */
export function refusalOf({ status, headers }: Response, text: string, selector: unknown): TopicdError {
  const retryAfter = headers.get('retry-after') ?? ''
  const retryAfterSeconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined
  const { code, message, operation } = problemIn(text)
  if (typeof code !== 'string' || typeof message !== 'string') {
    return new TopicdError(status, 'unexpected_answer', `The response ${status} has no error code.`, {
      retryAfterSeconds,
    })
  }
  return new TopicdError(status, code, message, {
    operation: typeof operation === 'number' ? operation : undefined,
    retryAfterSeconds,
    hint: code === 'invalid_selector' && typeof selector === 'string' ? hintFor(selector) : undefined,
  })
}

/** @throws TopicdError `unexpected_answer` if `read` throws a SyntaxError: the text is not the service's */
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

/** None for a body that is not a JSON object. */
function problemIn(text: string): { readonly [name in 'code' | 'message' | 'operation']?: unknown } {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? parsed : {}
  } catch {
    return {}
  }
}
