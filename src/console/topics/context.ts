/** The context of every part of the page: the session, and callbacks for changes and failures. */
import { type Item, TopicdError } from '../../client/index.js'
import type { Drawing } from './drawing.js'
import type { Session } from './session.js'

/** A topic to be created, without its path. */
export type NewTopic = Pick<Item, 'type' | 'properties' | 'text'>

export interface Context {
  readonly session: Session
  /** Draws the page again, soon. */
  readonly changed: () => void
  /** The start of the outage, in ms since the epoch; undefined while the service answers. */
  readonly outageMs: () => number | undefined
  readonly show: (path: string) => void
  /** Call it after a topic was created or removed. */
  readonly listsChanged: () => void
  readonly afterDraw: Drawing['afterDraw']
  readonly focusLater: Drawing['focusLater']
  /** Says that something was done, where nothing else shows it. */
  readonly note: (text: string) => void
  /** Opens the dialog. @param path the beginning of the topic's path @param as initial values of the other fields */
  readonly create: (path: string, as?: NewTopic) => void
  /** As a command for a shell. */
  readonly showCommand: (route: string, body: string) => void
  /** Call it if the service no longer knows the key. */
  readonly signOut: (reason: string) => void
}

/** How long changed items stay marked. */
export const markedMs = 2000

export function isBeyondRate(error: unknown): boolean {
  return error instanceof TopicdError && error.status === 429
}

/** Undefined if a retry would not help. */
export function retrySecondsOf(error: unknown): number | undefined {
  return error instanceof TopicdError ? error.retryAfterSeconds : undefined
}

/** Browsers' messages for a request without an answer; any other TypeError is a defect of this page. */
const noAnswer = /fetch|network|load failed/i

/** A sentence that is true whether or not the request is repeated. If the key is unknown, ends the session. */
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
