/**
 * What docs/api.md lets a service answer to a request: the codes of each route and the form of its 200. Requests are
 * made elsewhere.
 */
import { problemTable } from '../../../dist/api/problems.js'
import type { RawAnswer } from '../service/raw.js'
import type { HostileRequest } from './hostile-requests.js'
import { operations, type Route } from './valid-bodies.js'

type Code = keyof typeof problemTable

/** What may be wrong with any request. */
const ofRequests: readonly Code[] = [
  'invalid_framing',
  'unauthorized',
  'unknown_route',
  'method_not_allowed',
  'length_required',
  'body_too_large',
  'unsupported_media_type',
  'unsupported_encoding',
  'expectation_failed',
]

/** What may be wrong with the body of any route. */
const ofBodies: readonly Code[] = [
  'invalid_utf8',
  'invalid_json',
  'invalid_body',
  'unknown_parameter',
  'duplicate_parameter',
  'missing_parameter',
  'invalid_parameter',
  'invalid_path',
  'forbidden_path',
]

const ofOperations: Readonly<Record<(typeof operations)[number], readonly Code[]>> = {
  set: [],
  add: ['invalid_property'],
  addAndSet: ['invalid_property'],
  remove: ['path_or_selector', 'invalid_selector'],
}

/** What may be wrong with the body of a route. */
const ofRoutes: Readonly<Record<Route, readonly Code[]>> = {
  ...ofOperations,
  fetch: ['path_or_selector', 'invalid_selector'],
  batch: operations.flatMap((operation) => ofOperations[operation]),
}

/** What may be stored that prevents an operation. */
const byStored = {
  set: ['no_such_topic', 'incompatible_type', 'not_a_number', 'unsatisfied_constraint'],
  add: ['unsatisfied_constraint'],
  addAndSet: ['incompatible_type', 'incompatible_properties', 'unsatisfied_constraint'],
  remove: ['unsatisfied_constraint'],
} as const satisfies Readonly<Record<string, readonly Code[]>>

const byStoredOfRoutes: Readonly<Record<Route, readonly Code[]>> = {
  ...byStored,
  fetch: ['no_such_topic', 'incompatible_type'],
  batch: operations.flatMap((operation) => byStored[operation]),
}

/** What may refuse one operation of a batch that is not atomic. */
const ofOperationsInBatch = new Set<Code>([...ofBodies, ...ofRoutes.batch, ...byStoredOfRoutes.batch])

const routeNames = Object.keys(ofRoutes) as readonly Route[]

/** Every code that a client can cause. The others say that something is wrong with the service. */
const ofClients: readonly Code[] = [
  ...ofRequests,
  ...ofBodies,
  ...routeNames.flatMap((route) => [...ofRoutes[route], ...byStoredOfRoutes[route]]),
]

/** What the HTTP library answers by itself, and pages, preflights, what is elsewhere or was not modified. */
const plainStatuses = [200, 204, 301, 304, 400, 404, 431, 505]
const libraryStatuses = [400, 431, 505]

type Json = Readonly<Record<string, unknown>>

/** Whether these are the members, and each has what is wanted. */
function has(json: unknown, wanted: Readonly<Record<string, (member: unknown) => boolean>>): boolean {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return false
  const names = Object.keys(json)
  return (
    names.every((name) => name in wanted) &&
    Object.entries(wanted).every(([name, isWanted]) => isWanted((json as Json)[name]))
  )
}

const isText = (member: unknown): boolean => typeof member === 'string'
const isBoolean = (member: unknown): boolean => typeof member === 'boolean'
const isCount = (member: unknown): boolean => Number.isInteger(member) && Number(member) >= 0
const isListOf = (member: unknown, isItem: (item: unknown) => boolean): boolean =>
  Array.isArray(member) && member.every(isItem)

const isMoment = (member: unknown): boolean => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(String(member))

function isTopic(json: unknown): boolean {
  return has(json, {
    path: isText,
    type: (type) => type === 'json' || type === 'string',
    value: () => true,
    properties: (properties) => properties === undefined || typeof properties === 'object',
    version: (version) => version === undefined || (isCount(version) && Number.isSafeInteger(version)),
    updated: (updated) => updated === undefined || isMoment(updated),
  })
}

const isRest = (member: unknown): boolean => member === undefined || (isCount(member) && member !== 0)

function isTopicOrMissing(json: unknown): boolean {
  return isTopic(json) || has(json, { path: isText, missing: (isMissing) => isMissing === true })
}

const forms: Readonly<Record<Route, (json: unknown) => boolean>> = {
  fetch: (json) =>
    isTopic(json) ||
    has(json, { has_more: isBoolean, results: (results) => isListOf(results, isTopic) }) ||
    has(json, { count: isCount }) ||
    has(json, { results: (results) => isListOf(results, isTopicOrMissing), rest: isRest }),
  set: (json) =>
    has(json, { path: isText }) || has(json, { path: isText, value: (value) => typeof value === 'number' }),
  add: (json) => has(json, { path: isText, created: isBoolean }),
  addAndSet: (json) => has(json, { path: isText, created: isBoolean }),
  remove: (json) => has(json, { removed: isCount }),
  batch: (json) => has(json, { results: (results) => isListOf(results, isResult) }),
}

/** The JSON pages without a key, and what the console asks about its own key. */
function isPageText(json: unknown): boolean {
  const description = ['openapi', 'info', 'paths']
  if (typeof json === 'object' && json !== null && description.every((name) => name in json)) return true
  const ofKey = { name: isText, allow: Array.isArray, under: Array.isArray, pageSizeMax: isCount }
  return has(json, { status: (status) => status === 'serving' }) || has(json, ofKey)
}

/** What the root says on its way to the console. */
function isFrontText(json: unknown): boolean {
  return has(json, { service: isText, version: isText, routes: Array.isArray, pages: Array.isArray })
}

function isResult(json: unknown): boolean {
  const isRefusal = has(json, { code: (code) => ofOperationsInBatch.has(code as Code), message: isText })
  return isRefusal || operations.some((operation) => forms[operation](json))
}

/** The codes that may refuse the request. */
function codesFor({ route, isMutated, isPage, isValid }: HostileRequest): readonly Code[] {
  if (isMutated) return ofClients
  if (isPage) return ['method_not_allowed', 'unknown_route', 'unauthorized']
  if (route === undefined) return ['unauthorized', 'unknown_route', 'method_not_allowed']
  return isValid ? byStoredOfRoutes[route] : [...ofBodies, ...ofRoutes[route], ...byStoredOfRoutes[route]]
}

/** Undefined where it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** @returns what is not documented about an answer to a request; undefined if nothing */
export function undocumented(request: HostileRequest, { status, head, body }: RawAnswer): string | undefined {
  const { route, isMutated, isPage, sent } = request
  const isBroken = sent === 'lost' || sent === 'reset'
  if (body === '' || !/\r\ncontent-type: application\/json(\r\n|$)/.test(head)) {
    const allowed = isMutated || isPage ? plainStatuses : libraryStatuses
    const isAllowed = allowed.includes(status) && !(route !== undefined && !isMutated)
    return isAllowed ? undefined : `a plain ${status}`
  }
  const text = Buffer.from(body, 'latin1').toString()
  const json = parsed(text) as { readonly code?: Code } | undefined
  if (json === undefined) return `${status} with a body that is not JSON: ${head} ${text}`
  if (status === 200) {
    if (!isMutated && isBroken) return `a 200 to a part of a request: ${text}`
    const routesAllowed = routeNames.filter((name) => isMutated || name === route)
    const isOfRoute = routesAllowed.some((name) => forms[name](json))
    const isDocumented = isOfRoute || ((isMutated || isPage) && isPageText(json))
    return isDocumented ? undefined : `200 ${text}`
  }
  if (status === 302 && route === undefined && isFrontText(json)) return undefined
  const { code } = json
  const isAllowed = code !== undefined && codesFor(request).includes(code) && problemTable[code].status === status
  return isAllowed ? undefined : `${status} ${text}`
}
