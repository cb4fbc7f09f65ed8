/**
 * What the client throws for every answer that is not the expected one. A request without an answer fails with what
 * `fetch` threw: an abort, a time-out, a lost connection.
 */
import type { ErrorAnswer } from '../api/answers.js'
import { selectorFor } from './selectors.js'

/** The service's codes, and `unexpected_answer` for an answer that is not the service's, such as a proxy's. */
type ErrorCode = ErrorAnswer['code'] | 'unexpected_answer' | (string & Record<never, never>)

/** What an answer says beside its code and message. */
interface Details {
  readonly operation?: number | undefined
  readonly retryAfterSeconds?: number | undefined
  readonly hint?: string | undefined
}

/** An answer that refuses the request, or that is not the service's. */
export class TopicdError extends Error {
  override readonly name = 'TopicdError'
  /** Of a batch that was refused: the index of the operation that was the reason. */
  readonly operation: number | undefined
  /** When to try again, if the answer says so (429, 503). */
  readonly retryAfterSeconds: number | undefined
  /** What may help, where the client knows more than the answer says: of a selector with the wildcards of others. */
  declare readonly hint?: string

  constructor(
    /** The status of the answer: 200 for one that could not be read. */
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

/**
 * The error for an answer with a status other than 200.
 *
 * @param selector of the request, if it has one
 */
export function refusalOf(status: number, retryAfter: string | null, text: string, selector: unknown): TopicdError {
  const retryAfterSeconds = retryAfter !== null && /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined
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

/**
 * The result of reading the text of a 200.
 *
 * @throws TopicdError `unexpected_answer` if `read` throws a SyntaxError: the text is not the service's
 */
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

/** The members of an error's body; none for a body that is not a JSON object. */
function problemIn(text: string): { readonly [name in 'code' | 'message' | 'operation']?: unknown } {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? parsed : {}
  } catch {
    return {}
  }
}
