/**
 * POST /topics/fetch: one topic by its path, or a page of what a selector matches. Nothing is printed here: the store's
 * items are sent as they are, with the few bytes of a page around them.
 */
import type { Access } from '../auth/access.js'
import { restrict } from '../auth/access.js'
import type { Answer, Waiting } from '../http/answer.js'
import { pageSizeDefault } from '../limits.js'
import type { Page } from '../store/store.js'
import { fetchShape } from '../validators.js'
import type { FetchBody } from './bodies.js'
import { type ApiContext, absentProblem, operationProblem, refuse, touchProblem, whenKnown } from './context.js'
import { isProblem, parseBody, pathParameter, selectorParameter, sizeProblem } from './parse.js'
import { readPlainFetch } from './plain-fetch.js'
import { type Problem, problem } from './problems.js'

type Answered = Answer | Promise<Answer>

export function handleFetch(context: ApiContext, bytes: Buffer, access: Access, waiting: Waiting): Answered {
  const forbidden = operationProblem(access, 'fetch')
  if (forbidden) return refuse(forbidden)
  const body = fetchBody(bytes, context.pageSizeMax)
  if (isProblem(body)) return refuse(body)
  const { path, selector, type = 'json', size = pageSizeDefault, after } = body
  if ((path === undefined) === (selector === undefined)) {
    return refuse(problem('path_or_selector', { found: path === undefined ? 'none is' : 'both are' }))
  }
  if (path !== undefined) {
    const checked = pathParameter('path', path)
    if (typeof checked !== 'string') return refuse(checked)
    const outside = touchProblem(access, checked)
    if (outside) return refuse(outside)
    return whenKnown(context.store.readTopic(checked, type), (item) =>
      typeof item === 'string' ? refuse(absentProblem(item, checked, type)) : { status: 200, body: item },
    )
  }
  const plan = selectorParameter(selector as string)
  if (isProblem(plan)) return refuse(plan)
  const start = after === undefined ? undefined : pathParameter('after', after)
  if (isProblem(start)) return refuse(start)
  const query = { plan: restrict(access, plan), type, after: start, size, bytesMax: context.pageBytesMax }
  return whenKnown(context.store.readPage(query, waiting), wrapPage)
}

function fetchBody(bytes: Buffer, sizeMax: number): FetchBody | Problem {
  const plain = readPlainFetch(bytes)
  if (plain !== undefined)
    return plain.size === undefined || plain.size <= sizeMax ? plain : sizeProblem(plain.size, sizeMax)
  const parsed = parseBody(bytes, fetchShape, sizeMax)
  return isProblem(parsed) ? parsed : parsed.body
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
