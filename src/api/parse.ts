/**
 * From the bytes of a request to one complete, checked request, or to what is wrong with it. Each route has its parser:
 * bytes → validated body (parse-body.ts) → path, value, properties and selector, each checked once and in this order.
 * Permissions and the contents of the store are checked elsewhere.
 *
 * Errors in this folder: a fault of the request is a `Problem`, a value, and nothing here throws for it. A fault of
 * ours or of the machine (a broken assertion, a failed commit) is an exception, which service.ts turns into an answer.
 */
import type { Plan } from '../selectors/plan.js'
import { planSelector } from '../selectors/planner.js'
import type { BranchLimit, Creation, ItemForm } from '../store/store.js'
import { type Path, parsePath } from '../topics/path.js'
import { type CheckedProperties, parseProperties } from '../topics/properties.js'
import type { RemovalPolicy } from '../topics/removal-policy.js'
import type { Properties, TopicType } from '../topics/topic.js'
import { addAndSetShape, addShape, fetchShape, removeShape, setShape } from '../validators.js'
import type { FetchBody } from './bodies.js'
import { quote } from './json-bytes.js'
import { describe, integerProblem, parseBody } from './parse-body.js'
import { readPlainFetch } from './plain-fetch.js'
import { isProblem, type Problem, problem } from './problems.js'

/** One topic, of a type or in a form. */
type FetchOneRequest =
  | { readonly path: Path; readonly type: TopicType; readonly form?: undefined }
  | { readonly path: Path; readonly form: ItemForm }

/** A page of what a selector matches. */
interface FetchPageRequest {
  readonly path?: undefined
  readonly plan: Plan
  readonly after: Path | undefined
  /** Undefined for the default. */
  readonly size: number | undefined
}

/** The stored items of one type. */
interface PlainPageRequest extends FetchPageRequest {
  readonly type: TopicType
  readonly form?: undefined
}

/** Items in another form, or of limited branches. */
interface ListingRequest extends FetchPageRequest {
  readonly form: ItemForm
  readonly branches: BranchLimit | undefined
}

interface SetRequest {
  readonly path: Path
  readonly type: TopicType
  /** JSON, UTF-8; a view into the body where possible. */
  readonly valueText: Uint8Array
}

interface AddAndSetRequest {
  readonly creation: Creation
  /** As in `SetRequest`. */
  readonly valueText: Uint8Array
}

/** One topic, or all that a plan matches. */
type RemoveRequest = { readonly path: Path } | { readonly path?: undefined; readonly plan: Plan }

/** @param sizeMax the largest page that may be requested */
export function parseFetch(
  bytes: Buffer,
  sizeMax: number,
): FetchOneRequest | PlainPageRequest | ListingRequest | Problem {
  const body = parseFetchBody(bytes, sizeMax)
  if (isProblem(body)) return body
  const { path, selector, type = 'json', size, after } = body
  const form = formOf(body, type)
  if (path !== undefined) {
    if (selector !== undefined) return bothProblem
    const checked = parsePathParameter('path', path)
    if (isProblem(checked)) return checked
    return isForm(form) ? { path: checked, form } : { path: checked, type: form }
  }
  if (selector === undefined) return neitherProblem
  const plan = parseSelectorParameter(selector)
  if (isProblem(plan)) return plan
  const start = after === undefined ? undefined : parsePathParameter('after', after)
  if (isProblem(start)) return start
  const branches = branchLimitOf(body)
  if (isProblem(branches)) return branches
  if (isForm(form)) return { plan, after: start, size, form, branches }
  if (branches === undefined) return { plan, type: form, after: start, size }
  return { plan, after: start, size, form: { type: form, values: true, properties: false }, branches }
}

/** The form of the items; their type alone where they are simply the stored ones. */
function formOf(body: FetchBody, type: TopicType | 'any'): ItemForm | TopicType {
  const { with_values: values = true, with_properties: properties = false } = body
  return type !== 'any' && values && !properties ? type : { type, values, properties }
}

function isForm(form: ItemForm | TopicType): form is ItemForm {
  return typeof form === 'object'
}

function branchLimitOf({
  deep_branch_depth: depth,
  deep_branch_limit: limit,
}: FetchBody): BranchLimit | undefined | Problem {
  if (depth === undefined && limit === undefined) return undefined
  if (depth !== undefined && limit !== undefined) return { depth, limit }
  const [name, given] =
    depth === undefined ? ['deep_branch_depth', 'deep_branch_limit'] : ['deep_branch_limit', 'deep_branch_depth']
  return problem('missing_parameter', { name, allowed: `it is required together with "${given}"` })
}

function parseFetchBody(bytes: Buffer, sizeMax: number): FetchBody | Problem {
  const plain = readPlainFetch(bytes)
  if (plain !== undefined) {
    return plain.size === undefined || plain.size <= sizeMax ? plain : integerProblem('size', plain.size, sizeMax)
  }
  const parsed = parseBody(bytes, fetchShape, sizeMax)
  return isProblem(parsed) ? parsed : parsed.body
}

export function parseSet(bytes: Buffer): SetRequest | Problem {
  const parsed = parseBody(bytes, setShape)
  if (isProblem(parsed)) return parsed
  const { type = 'json', value } = parsed.body
  const path = parsePathParameter('path', parsed.body.path)
  if (isProblem(path)) return path
  const valueText = parseValue(parsed.valueText, value, type)
  return isProblem(valueText) ? valueText : { path, type, valueText }
}

export function parseAdd(bytes: Buffer): Creation | Problem {
  const parsed = parseBody(bytes, addShape)
  if (isProblem(parsed)) return parsed
  const { type = 'json', properties = {} } = parsed.body
  const path = parsePathParameter('path', parsed.body.path)
  if (isProblem(path)) return path
  const checked = parseRequestedProperties(properties)
  return isProblem(checked) ? checked : { path, type, properties, removal: checked.removal }
}

export function parseAddAndSet(bytes: Buffer): AddAndSetRequest | Problem {
  const parsed = parseBody(bytes, addAndSetShape)
  if (isProblem(parsed)) return parsed
  const { type = 'json', properties = {}, value } = parsed.body
  const path = parsePathParameter('path', parsed.body.path)
  if (isProblem(path)) return path
  const valueText = parseValue(parsed.valueText, value, type)
  if (isProblem(valueText)) return valueText
  const checked = parseRequestedProperties(properties)
  return isProblem(checked) ? checked : { creation: { path, type, properties, removal: checked.removal }, valueText }
}

export function parseRemove(bytes: Buffer): RemoveRequest | Problem {
  const parsed = parseBody(bytes, removeShape)
  if (isProblem(parsed)) return parsed
  const { path, selector } = parsed.body
  if (path !== undefined) {
    if (selector !== undefined) return bothProblem
    const checked = parsePathParameter('path', path)
    return isProblem(checked) ? checked : { path: checked }
  }
  if (selector === undefined) return neitherProblem
  const plan = parseSelectorParameter(selector)
  return isProblem(plan) ? plan : { plan }
}

const neitherProblem = problem('path_or_selector', { found: 'none is' })
const bothProblem = problem('path_or_selector', { found: 'both are' })

/** A path given as the parameter `name`. */
export function parsePathParameter(name: 'path' | 'after', text: string): Path | Problem {
  const path = parsePath(text)
  return typeof path === 'string' ? path : problem('invalid_path', { name, problem: path.problem })
}

function parseSelectorParameter(text: string): Plan | Problem {
  const plan = planSelector(text)
  return 'problem' in plan ? problem('invalid_selector', { problem: plan.problem }) : plan
}

/** Checks the known properties, and parses REMOVAL; its remove clause is checked by `planRemoveClause`. */
export function parseRequestedProperties(properties: Properties): CheckedProperties | Problem {
  const checked = parseProperties(properties)
  return 'problem' in checked ? problem('invalid_property', checked) : checked
}

/** The plan of the selector in a remove clause; undefined without one. */
export function planRemoveClause(removal: RemovalPolicy | undefined): Plan | Problem | undefined {
  if (removal?.selector === undefined) return undefined
  const plan = planSelector(removal.selector)
  if (!('problem' in plan)) return plan
  return problem('invalid_property', { name: 'REMOVAL', problem: `removes by a selector that ${plan.problem}` })
}

/** The value's text, checked against the topic's type; `value` is what it parses to, for the message. */
export function parseValue(valueText: Uint8Array | undefined, value: unknown, type: TopicType): Uint8Array | Problem {
  if (valueText === undefined) {
    return problem('missing_parameter', { name: 'value', allowed: 'any JSON value is required' })
  }
  if (type === 'json' || valueText[0] === quote) return valueText
  return problem('invalid_parameter', {
    name: 'value',
    found: describe(value),
    allowed: 'a string (the type is string)',
  })
}
