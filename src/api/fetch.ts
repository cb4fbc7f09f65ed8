/**
 * POST /topics/fetch: one topic or many by their paths, or a page of what a selector matches, or only their number. Nothing
 * is serialised here: the store's items are sent unchanged, with the few bytes of a page around them.
 */
import type { Access } from '../auth/access.js'
import { whenKnown } from '../base/awaitable.js'
import type { Answer, Cancellation } from '../http/answer.js'
import { restrict } from '../keys/rights.js'
import { answerBytesAlwaysMax, pageSizeDefault, pagesInRoomLeft } from '../settings/limits.js'
import type { ItemForm, Page } from '../store/topics.js'
import type { Path } from '../topics/path.js'
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
  const request = operationProblem(access, ['fetch']) ?? parseFetch(bytes, context.pageSizeMax)
  if (isProblem(request)) return refuse(request)
  if (request.path === undefined) {
    if (request.paths !== undefined) return fetchMany(context, request.paths, request.form, access)
    const plan = restrict(access, request.plan)
    if (request.isCount) {
      return store.countMatches(plan, request.type, cancellation).then((count) => ok(`{"count":${count}}`))
    }
    const { form, branches, after, size = Math.min(pageSizeDefault, context.pageSizeMax) } = request
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

/** Topics in one snapshot, in the order of their paths; fewer, and how many are left, if a page has no room for all. */
function fetchMany(
  context: ApiContext,
  paths: readonly Path[],
  form: ItemForm,
  access: Access,
): Answer | Promise<Answer> {
  for (const path of paths) {
    const refused = pathProblem(access, path)
    if (refused) return refuse(refused)
  }
  const bytesMax = pageBytes(context)
  const parts: Uint8Array[] = []
  let count = 0
  let bytes = 0
  const take = (item: Uint8Array | undefined): boolean => {
    // It is valid during the call only.
    const result = item === undefined ? missing(paths[count] as Path) : Buffer.from(item)
    bytes += result.length + 1
    if (count > 0 && bytes > bytesMax) return false
    if (count++ > 0) parts.push(comma)
    parts.push(result)
    return true
  }
  const read = context.store.inSnapshot((snapshot) => {
    parts.length = count = bytes = 0
    return snapshot.readItems(paths, form, bytesMax, take)
  })
  return whenKnown(read, () => {
    const end = count < paths.length ? Buffer.from(`],"rest":${paths.length - count}}`) : tail
    return { status: 200, body: Buffer.concat([heads.many, ...parts, end]) }
  })
}

function missing(path: Path): Buffer {
  return Buffer.from(`{"path":${JSON.stringify(path)},"missing":true}`)
}

/** How large a page may be now: one that nobody reads leaves room for others. */
export function pageBytes({ pageBytesMax, answerBytesFree }: ApiContext): number {
  return Math.min(pageBytesMax, Math.max(pageBytesMin, Math.floor(answerBytesFree() / pagesInRoomLeft)))
}

const heads = {
  more: Buffer.from('{"has_more":true,"results":['),
  last: Buffer.from('{"has_more":false,"results":['),
  many: Buffer.from('{"results":['),
}
const comma = Buffer.from(',')
const tail = Buffer.from(']}')

/** Writes the rest of the page around its items, into the room that the store left for it. */
function wrapPage({ buffer, start, end, hasMore }: Page): Answer {
  const head = hasMore ? heads.more : heads.last
  buffer.set(head, start - head.length)
  buffer.set(tail, end)
  return { status: 200, body: buffer.subarray(start - head.length, end + tail.length) }
}
