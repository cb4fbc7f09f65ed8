/**
 * POST /topics/fetch: one topic or many by path, a page of a selector's matches, or only their number. No topic is serialised
 * here: the store's items are sent unchanged, with the few bytes of a page around them.
 */
import typia from 'typia'
import type { Access } from '../../auth/access.js'
import { type Awaitable, whenKnown } from '../../base/awaitable.js'
import type { Cancellation } from '../../base/cancellation.js'
import type { Answer } from '../../http/answer.js'
import { restrict } from '../../keys/rights.js'
import { pageSizeDefault } from '../../settings/limits.js'
import type { ItemForm, Page } from '../../store/topics.js'
import type { Path } from '../../topics/path.js'
import type { CountAnswer, FetchedPaths, FetchItem, FetchPage } from '../answers.js'
import { type FetchRequest, parseFetch } from '../bodies/parse-fetch.js'
import { bodySchemas } from '../bodies/shapes.js'
import { type ApiContext, absentProblem, ok, pageBytes, pathProblem, refuse } from '../context.js'
import type { ApiRoute, Example } from './route.js'

const examples: readonly Example[] = [
  {
    name: 'byPath',
    summary: 'One topic',
    request: { path: 'plant/7/temp' },
    answer: { path: 'plant/7/temp', type: 'json', value: { celsius: 22, at: '2030-01-01T12:01:00Z' } },
  },
  {
    name: 'byPaths',
    summary: 'Many topics, in this order, from one snapshot',
    request: { paths: ['plant/7/humidity', 'plant/8/temp'] },
    answer: {
      results: [
        { path: 'plant/7/humidity', type: 'json' },
        { path: 'plant/8/temp', missing: true },
      ],
    },
  },
  {
    name: 'firstPage',
    summary: 'The first page of a subtree',
    request: { selector: '*plant//', size: 1 },
    answer: { has_more: true, results: [{ path: 'plant/7/humidity', type: 'json' }] },
  },
  {
    name: 'nextPage',
    summary: 'The next page: after the last path received',
    request: { selector: '*plant//', size: 1, after: 'plant/7/humidity' },
    answer: {
      has_more: false,
      results: [{ path: 'plant/7/temp', type: 'json', value: { celsius: 22, at: '2030-01-01T12:01:00Z' } }],
    },
  },
  {
    name: 'children',
    summary: 'The branches below a topic: the first topic of each, of any type, without its value',
    request: {
      selector: '*plant/',
      type: 'any',
      deep_branch_depth: 2,
      deep_branch_limit: 1,
      with_values: false,
      with_properties: true,
    },
    answer: {
      has_more: false,
      results: [{ path: 'plant/7/alarm', type: 'string', properties: { REMOVAL: 'when no updates for 1d' } }],
    },
  },
  {
    name: 'count',
    summary: 'The number of topics in a subtree, of any type',
    request: { selector: '*plant//', type: 'any', count: true },
    answer: { count: 3 },
  },
]

export const fetchRoute: ApiRoute<FetchRequest> = {
  name: 'fetch',
  operationId: 'fetchTopics',
  summary: 'Fetches one topic or many by path, a page of the topics that a selector matches, or their number.',
  isRead: true,
  needs: ['fetch'],
  bodies: bodySchemas.fetch,
  answers: typia.json.schemas<[FetchItem, FetchedPaths, FetchPage, CountAnswer], '3.1'>(),
  answered: 'The topic or topics, the page, or the number.',
  statuses: [],
  examples,
  parse: (bytes, { pageSizeMax }) => parseFetch(bytes, pageSizeMax),
  handle,
}

function handle(
  context: ApiContext,
  request: FetchRequest,
  access: Access,
  cancellation: Cancellation,
): Awaitable<Answer> {
  const { store } = context
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

/** Topics from one snapshot, in the order of the paths. If they do not all fit, the page has fewer topics and a member `rest`. */
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
    // The item is valid only during the call.
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

const heads = {
  more: Buffer.from('{"has_more":true,"results":['),
  last: Buffer.from('{"has_more":false,"results":['),
  many: Buffer.from('{"results":['),
}
const comma = Buffer.from(',')
const tail = Buffer.from(']}')

/** Writes the rest of the page into the room that the store left around the items. */
function wrapPage({ buffer, start, end, hasMore }: Page): Answer {
  const head = hasMore ? heads.more : heads.last
  buffer.set(head, start - head.length)
  buffer.set(tail, end)
  return { status: 200, body: buffer.subarray(start - head.length, end + tail.length) }
}
