/** Descriptions of failed requests and invalid input, and their display in a panel or dialog. */
import { html, nothing, type TemplateResult } from 'lit-html'
import { TopicdError } from '../../client/index.js'

export function isConflict(error: unknown): error is TopicdError {
  return error instanceof TopicdError && error.code === 'unsatisfied_constraint'
}

/** The part of the context with which a failure ends a session. */
export interface Ending {
  /** Called if the service no longer knows the key. */
  readonly signOut: (reason: string) => void
}

/** Matches browsers' messages for a request without a response; any other TypeError is a defect of this page. */
const noAnswer = /fetch|network|load failed/i

/** A sentence that is true even if the request is repeated. If the key is unknown, ends the session. */
export function describeFailure(error: unknown, session?: Ending): string {
  if (error instanceof TopicdError) {
    const text = describeRefusal(error)
    if (error.status === 401) session?.signOut(text)
    return text
  }
  if (error instanceof SyntaxError) return `The value is not JSON: ${error.message}.`
  if (error instanceof DOMException && error.name === 'TimeoutError') return 'The service did not respond in time.'
  if (error instanceof TypeError && noAnswer.test(error.message)) return 'The service cannot be reached.'
  return error instanceof Error ? error.message : String(error)
}

/** Replaces the service's messages that mention headers, which are meant for programs. */
function describeRefusal({ status, message, retryAfterSeconds }: TopicdError): string {
  if (status === 401) {
    return message.includes('expired')
      ? 'This API key has expired.'
      : 'The service does not know this API key; it may have been revoked.'
  }
  if (status !== 429) return message
  const next = retryAfterSeconds === undefined ? '' : ` The next request is allowed in ${retryAfterSeconds} s.`
  return `This API key has reached its rate limit.${next}`
}

/** @param problem a sentence, or an empty string */
export function alertView(problem: string, classes = 'bad'): TemplateResult | typeof nothing {
  return problem === '' ? nothing : html`<p class=${classes} role="alert">${problem}</p>`
}
