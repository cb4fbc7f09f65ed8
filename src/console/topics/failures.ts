/** Failures in words, and how a panel or dialog shows them: of requests, and of a user's own text. */
import { html, nothing, type TemplateResult } from 'lit-html'
import { TopicdError } from '../../client/index.js'

export function isConflict(error: unknown): error is TopicdError {
  return error instanceof TopicdError && error.code === 'unsatisfied_constraint'
}

/** The session to which a request belongs. */
export interface Ending {
  /** Call it if the service no longer knows the key. */
  readonly signOut: (reason: string) => void
}

/** Browsers' messages for a request without an answer; any other TypeError is a defect of this page. */
const noAnswer = /fetch|network|load failed/i

/** A sentence that is true whether or not the request is repeated. If the key is unknown, ends the session. */
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

/** The service's own words are for programs where they speak of headers. */
function describeRefusal({ status, message, retryAfterSeconds }: TopicdError): string {
  if (status === 401) {
    return message.includes('expired')
      ? 'This API key has expired.'
      : 'The service does not know this API key; it may have been revoked.'
  }
  if (status !== 429) return message
  const next = retryAfterSeconds === undefined ? '' : ` It allows the next request in ${retryAfterSeconds} s.`
  return `This API key's rate is reached.${next}`
}

/** @param problem a sentence; empty for none */
export function alertView(problem: string, classes = 'bad'): TemplateResult | typeof nothing {
  return problem === '' ? nothing : html`<p class=${classes} role="alert">${problem}</p>`
}
