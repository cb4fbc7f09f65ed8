/** Parses the bytes of a request for changes, and its header `last-event-id`, into one checked request. */
import { decodeToken, type Since, tokenBytesMax } from '../../changes/token.js'
import type { Plan } from '../../selectors/plan.js'
import { changesSizeDefault } from '../../settings/limits.js'
import type { ItemForm } from '../../store/topics.js'
import type { Path } from '../../topics/path.js'
import { topicRange } from '../../topics/range.js'
import { invalidParameter, isProblem, type Problem, wrongParameter } from '../problems.js'
import { bothProblem, neitherProblem, parsePathParameter, parseSelectorParameter } from './parse.js'
import { formOf } from './parse-fetch.js'
import { describe, readBody } from './read-object.js'
import { shapes } from './shapes.js'

export interface ChangesRequest {
  /** Names the topics, so that the walks of different requests can be distinguished. */
  readonly text: string
  /** Undefined for a selector. */
  readonly path: Path | undefined
  readonly plan: Plan
  readonly form: ItemForm
  readonly size: number
  readonly since: Since
  readonly waitMs: number
}

/** @param lastEventId replaces `since`; empty for none */
export function parseChanges(bytes: Buffer, sizeMax: number, lastEventId: string): ChangesRequest | Problem {
  const body = readBody(bytes, shapes.changes, { sizeMax })
  if (isProblem(body)) return body
  const { type = 'json', size = Math.min(changesSizeDefault, sizeMax), wait = 0 } = body
  const topics = parseTopics(body.path, body.selector)
  if (isProblem(topics)) return topics
  const since = lastEventId === '' ? parseSince('since', body.since) : parseSince('last-event-id', lastEventId)
  if (isProblem(since)) return since
  return { ...topics, form: formOf(body, type), size, since: since.since, waitMs: wait * 1000 }
}

function parseTopics(
  path: string | undefined,
  selector: string | undefined,
): Pick<ChangesRequest, 'text' | 'path' | 'plan'> | Problem {
  if (path !== undefined) {
    if (selector !== undefined) return bothProblem
    const checked = parsePathParameter('path', path)
    if (isProblem(checked)) return checked
    return { text: `>${checked}`, path: checked, plan: { ranges: [topicRange(checked)], matcher: undefined } }
  }
  if (selector === undefined) return neitherProblem
  const plan = parseSelectorParameter(selector)
  return isProblem(plan) ? plan : { text: selector, path: undefined, plan }
}

function parseSince(name: string, text: string | undefined): { readonly since: Since } | Problem {
  if (text === undefined || text === 'now') return { since: text }
  const since = decodeToken(text)
  if (since !== undefined) return { since }
  const found = text.length > tokenBytesMax ? `a string of ${text.length} characters` : describe(text)
  return invalidParameter(name, found, 'the "next" of an earlier response, or "now"')
}

export const otherWalkProblem = wrongParameter(
  'since',
  'was issued for another selector, type or API key; use the "next" of an earlier response to the same request',
)
