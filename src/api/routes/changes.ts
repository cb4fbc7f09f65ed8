/**
 * POST /topics/changes: the changes after a token, as one page (immediately, or when there is a change) or as a stream of
 * pages. changes/ builds the pages.
 */
import typia from 'typia'
import type { Access } from '../../auth/access.js'
import { type Awaitable, whenKnown } from '../../base/awaitable.js'
import { Scope } from '../../changes/scope.js'
import type { Answer, Ongoing, Stream } from '../../http/answer.js'
import { restrict } from '../../keys/rights.js'
import { asksFor } from '../../web/accept.js'
import type { ChangesPage } from '../answers.js'
import { type ChangesRequest, otherWalkProblem, parseChanges } from '../bodies/parse-changes.js'
import { bodySchemas } from '../bodies/shapes.js'
import { type ApiContext, pageBytes, pathProblem, refuse } from '../context.js'
import { problem } from '../problems.js'
import type { ApiRoute } from './route.js'

const eventStream = 'text/event-stream'

/** Proxies must neither cache nor buffer the stream. */
const streamHeaders = [
  ['cache-control', 'no-store, no-transform'],
  ['x-accel-buffering', 'no'],
] as const

const refusals = {
  gone: refuse(problem('since_gone')),
  full: refuse(problem('overloaded')),
  draining: refuse(problem('draining')),
}

export const changesRoute: ApiRoute<ChangesRequest> = {
  name: 'changes',
  operationId: 'fetchChanges',
  summary: 'Returns the changes since an earlier response, or the current state first; can wait for a change.',
  isRead: true,
  asksHeaders: true,
  needs: ['fetch'],
  bodies: bodySchemas.changes,
  answers: typia.json.schemas<[ChangesPage], '3.1'>(),
  answered:
    'A page of changes. With `accept: text/event-stream`, a stream of events: the data of each event is such a page, and ' +
    'its id is the `next` of the page.',
  otherAnswers: {
    [eventStream]: {
      schema: { type: 'string' },
      example: 'retry: 2718\n\nid: AQAUQtbYYg\ndata: {"has_more":false,"results":[],"next":"AQAUQtbYYg"}\n\n',
    },
  },
  statuses: [410],
  // Responses contain tokens, which differ each time.
  examples: [],
  parse: (bytes, { pageSizeMax }, headers) => parseChanges(bytes, pageSizeMax, headers?.lastEventId ?? ''),
  handle,
}

function handle(context: ApiContext, request: ChangesRequest, access: Access, ongoing: Ongoing): Awaitable<Answer> {
  const { changes } = context
  const { accept = '', authorization = '' } = ongoing.headers ?? {}
  const { text, path, form, size, since, waitMs } = request
  const refused = path === undefined ? undefined : pathProblem(access, path)
  if (refused !== undefined) return refuse(refused)
  const scope = new Scope({ text, plan: restrict(access, request.plan), under: access.under, form, size })
  if (typeof since === 'object' && since.walk !== undefined && !since.walk.id.equals(scope.walkId))
    return refuse(otherWalkProblem)
  if (asksFor(eventStream, accept)) {
    const refusal = (): 'unauthorized' | 'access_changed' | undefined => refusalOf(access, context, authorization)
    return whenKnown(changes.openStream({ scope, since, refusal }, access.name), answerOf)
  }
  const beganMs = performance.now()
  const options = { waitMs, bytesMax: pageBytes(context), keyName: access.name }
  return changes.page(scope, since, options, ongoing).then((body) => {
    if (typeof body === 'string') return refusals[body]
    if (waitMs === 0) return { status: 200, body }
    // The key may have been revoked while the request waited.
    const late = refusalOf(access, context, authorization)
    const answer = late === undefined ? { status: 200, body } : refuse(lateProblem(late))
    return { ...answer, waitedMs: performance.now() - beganMs }
  })
}

function answerOf(stream: Stream | keyof typeof refusals): Answer {
  if (typeof stream === 'string') return refusals[stream]
  return { status: 200, body: '', contentType: `${eventStream}; charset=utf-8`, headers: streamHeaders, stream }
}

/** Undefined if the key's permissions are the same as at the start of the request. */
function refusalOf(
  { allow, under = [] }: Access,
  { findCaller }: ApiContext,
  authorization: string,
): 'unauthorized' | 'access_changed' | undefined {
  const now = findCaller(authorization)
  if (now === undefined) return 'unauthorized'
  const isSame = now.allow.has('fetch') === allow.has('fetch') && (now.under ?? []).join('\0') === under.join('\0')
  return isSame ? undefined : 'access_changed'
}

function lateProblem(refusal: 'unauthorized' | 'access_changed'): ReturnType<typeof problem> {
  return refusal === 'unauthorized'
    ? problem('unauthorized', { found: 'its token is no longer valid' })
    : problem('forbidden_operation', { operation: 'continue: its permissions have changed' })
}
