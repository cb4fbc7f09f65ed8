/** What every part of the page is given: the session, and how to say that something has changed or failed. */
import { type Item, TopicdError } from '../../client/index.js'
import type { Drawing } from './drawing.js'
import type { Session } from './session.js'

/** A topic as it is to be created, but for its path. */
export type NewTopic = Pick<Item, 'type' | 'properties' | 'text'>

export interface Context {
  readonly session: Session
  /** Draws the page again, soon. */
  readonly changed: () => void
  /** Since when the service does not answer, in ms since the epoch; undefined while it does. */
  readonly outageMs: () => number | undefined
  /** Shows the topic at a path. */
  readonly show: (path: string) => void
  /** Refreshes what lists topics, after one was created or removed. */
  readonly listsChanged: () => void
  readonly afterDraw: Drawing['afterDraw']
  readonly focusLater: Drawing['focusLater']
  /** Says that something was done, where nothing else shows it. */
  readonly note: (text: string) => void
  /** Asks for a new topic. @param path what its path begins with @param as what its other fields begin with */
  readonly create: (path: string, as?: NewTopic) => void
  /** Shows a request as a command for a shell. */
  readonly showCommand: (route: string, body: string) => void
  /** Ends the session, because the service no longer knows the key. */
  readonly signOut: (reason: string) => void
}

/** For how long what has changed is marked, in ms. */
export const markedMs = 2000

/** Whether a request was refused because the key has made too many. */
export function isBeyondRate(error: unknown): boolean {
  return error instanceof TopicdError && error.status === 429
}

/** After how many seconds a refused request may be sent again; undefined where waiting is of no use. */
export function retrySecondsOf(error: unknown): number | undefined {
  return error instanceof TopicdError ? error.retryAfterSeconds : undefined
}

/** What browsers say of a request that got no answer; any other TypeError is a defect of this page. */
const noAnswer = /fetch|network|load failed/i

/**
 * Why a request failed, in a sentence for a person, which is true whether or not the request is repeated. A key that is no
 * longer known ends the session.
 */
export function describeFailure(error: unknown, context?: Context): string {
  if (error instanceof TopicdError) {
    const text = describeRefusal(error)
    if (error.status === 401) context?.signOut(text)
    return text
  }
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
