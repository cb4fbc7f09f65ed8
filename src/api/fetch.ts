/**
 * POST /topics/fetch: one topic by its path, or a page of what a selector matches, or only their number. Nothing
 * is serialised here: the store's items are sent unchanged, with the few bytes of a page around them.
 */
import type { Access } from '../auth/access.js'
import { whenKnown } from '../base/awaitable.js'
import type { Answer, Cancellation } from '../http/answer.js'
import { restrict } from '../keys/rights.js'
import { answerBytesAlwaysMax, pageSizeDefault, pagesInRoomLeft } from '../settings/limits.js'
import type { Page } from '../store/topics.js'
import { parseFetch } from './bodies/parse-fetch.js'
import { type ApiContext, absentProblem, ok, operationProblem, pathProblem, refuse } from './context.js'
import { isProblem } from './problems.js'

/** Pages may be this large though there is no room: with what is around the items, they are answers that are always sent. */
const pageBytesMin = answerBytesAlwaysMax / 2

export function handleFetch(
  context: ApiContext,
  bytes: Buffer,
  access: Access,
  cancellation: Cancellation,
): Answer | Promise<Answer> {
  const { store } = context
  const request = operationProblem(access, 'fetch') ?? parseFetch(bytes, context.pageSizeMax)
  if (isProblem(request)) return refuse(request)
  if (request.path === undefined) {
    const plan = restrict(access, request.plan)
    if (request.isCount) {
      return store.countMatches(plan, request.type, cancellation).then((count) => ok(`{"count":${count}}`))
    }
    const { form, branches, after, size = pageSizeDefault } = request
    const query = { plan, form, branches, after, size, bytesMax: pageBytes(context) }
    return whenKnown(store.readPage(query, cancellation), wrapPage)
  }
  const { path, form } = request
  const refused = pathProblem(access, path)
  if (refused) return refuse(refused)
  return whenKnown(store.readTopic(path, form), (item) =>
    typeof item === 'string' ? refuse(absentProblem(item, path, form.type)) : { status: 200, body: item },
  )
}

/** How large a page may be now: one that nobody reads leaves room for others. */
export function pageBytes({ pageBytesMax, answerBytesFree }: ApiContext): number {
  return Math.min(pageBytesMax, Math.max(pageBytesMin, Math.floor(answerBytesFree() / pagesInRoomLeft)))
}

const heads = {
  more: Buffer.from('{"has_more":true,"results":['),
  last: Buffer.from('{"has_more":false,"results":['),
}
const tail = Buffer.from(']}')

/** Writes the rest of the page around its items, into the room that the store left for it. */
function wrapPage({ buffer, start, end, hasMore }: Page): Answer {
  const head = hasMore ? heads.more : heads.last
  buffer.set(head, start - head.length)
  buffer.set(tail, end)
  return { status: 200, body: buffer.subarray(start - head.length, end + tail.length) }
}
