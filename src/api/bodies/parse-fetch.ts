/** Parses the bytes of a fetch into one checked request: for one topic, for many topics by path, for a page, or for a count. */
import type { Plan } from '../../selectors/plan.js'
import { fetchPathsMax } from '../../settings/limits.js'
import { type BranchLimit, type ItemForm, storedForms } from '../../store/topics.js'
import type { Path } from '../../topics/path.js'
import type { TopicType } from '../../topics/topic.js'
import { invalidParameter, isProblem, type Problem, problem, wrongParameter } from '../problems.js'
import type { FetchBody } from './bodies.js'
import { parsePathParameter, parseSelectorParameter } from './parse.js'
import { readPlainFetch } from './plain-fetch.js'
import { type Read, readBody } from './read-object.js'
import { shapes } from './shapes.js'

interface FetchOneRequest {
  readonly path: Path
  readonly form: ItemForm
}

interface FetchManyRequest {
  readonly path?: undefined
  readonly paths: readonly Path[]
  readonly form: ItemForm
}

interface CountRequest {
  readonly path?: undefined
  readonly paths?: undefined
  readonly isCount: true
  readonly plan: Plan
  readonly type: TopicType | 'any'
}

interface FetchPageRequest {
  readonly path?: undefined
  readonly paths?: undefined
  readonly isCount?: undefined
  readonly plan: Plan
  readonly form: ItemForm
  readonly branches: BranchLimit | undefined
  readonly after: Path | undefined
  /** Undefined for the default. */
  readonly size: number | undefined
}

export type FetchRequest = FetchOneRequest | FetchManyRequest | CountRequest | FetchPageRequest

export function parseFetch(bytes: Buffer, sizeMax: number): FetchRequest | Problem {
  const body = readPlainFetch(bytes, sizeMax) ?? readBody(bytes, shapes.fetch, { sizeMax, elementsMax: fetchPathsMax })
  if (isProblem(body)) return body
  if (body.paths !== undefined) return parseMany(body, body.paths)
  const { path, selector, type = 'json', size, after, count } = body
  if (path !== undefined) {
    if (selector !== undefined) return bothProblem
    if (count === true) return wrongParameter('count', 'requires "selector"')
    const checked = parsePathParameter('path', path)
    return isProblem(checked) ? checked : { path: checked, form: formOf(body, type) }
  }
  if (selector === undefined) return neitherProblem
  const name = count === true ? membersBesidesCount.find((name) => body[name] !== undefined) : undefined
  if (name !== undefined) return wrongParameter(name, 'cannot be combined with "count"')
  const plan = parseSelectorParameter(selector)
  if (isProblem(plan)) return plan
  if (count === true) return { isCount: true, plan, type }
  const start = after === undefined ? undefined : parsePathParameter('after', after)
  if (isProblem(start)) return start
  const branches = branchLimitOf(body)
  return isProblem(branches) ? branches : { plan, form: formOf(body, type), branches, after: start, size }
}

const pathsOrSelector = '"path", "paths" and "selector"'

const neitherProblem = problem('path_or_selector', { allowed: pathsOrSelector, found: 'none' })
const bothProblem = problem('path_or_selector', { allowed: pathsOrSelector, found: '"path" and "selector"' })

const membersOfPages = [
  'size',
  'after',
  'deep_branch_depth',
  'deep_branch_limit',
] as const satisfies readonly (keyof FetchBody)[]

const membersBesidesPaths = [...membersOfPages, 'path', 'selector', 'count'] as const

function parseMany(body: Read<FetchBody>, texts: readonly string[]): FetchManyRequest | Problem {
  const name = membersBesidesPaths.find((name) => body[name] !== undefined)
  if (name !== undefined) return wrongParameter(name, 'cannot be combined with "paths"')
  if (texts.length < 1 || texts.length > fetchPathsMax) {
    const found = texts.length === 0 ? 'an empty array' : `an array of ${texts.length}`
    return invalidParameter('paths', found, `an array of 1 to ${fetchPathsMax} paths`)
  }
  const paths: Path[] = []
  for (const [index, text] of texts.entries()) {
    const path = parsePathParameter(`paths[${index}]`, text)
    if (isProblem(path)) return path
    paths.push(path)
  }
  return { paths, form: formOf(body, body.type ?? 'json') }
}

/** The members that make no sense for a count, which covers all matches and shows no items. */
const membersBesidesCount = [...membersOfPages, 'with_values', 'with_properties', 'with_version'] as const

export function formOf(
  body: Pick<Read<FetchBody>, 'with_values' | 'with_properties' | 'with_version'>,
  type: TopicType | 'any',
): ItemForm {
  const { with_values: values = true, with_properties: properties = false, with_version: versions = false } = body
  return type !== 'any' && values && !properties && !versions
    ? storedForms[type]
    : { type, values, properties, versions }
}

function branchLimitOf({
  deep_branch_depth: depth,
  deep_branch_limit: limit,
}: Read<FetchBody>): BranchLimit | undefined | Problem {
  if (depth === undefined && limit === undefined) return undefined
  if (depth !== undefined && limit !== undefined) return { depth, limit }
  const [name, given] =
    depth === undefined ? ['deep_branch_depth', 'deep_branch_limit'] : ['deep_branch_limit', 'deep_branch_depth']
  return problem('missing_parameter', { name, allowed: `"${given}" requires it` })
}
