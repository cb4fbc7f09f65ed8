/**
 * Every error response: one closed table of codes, statuses and messages. A test compares it with docs/api.md.
 * Codes are stable, and clients may match on them; messages may improve.
 *
 * A message states the fault and its place, then the remedy. `{…}` is filled in where the problem is found. No message
 * contains a stack trace or a token.
 */

/** `console` marks the codes of the console's own routes; the API description leaves these codes out. */
type Row = readonly [status: number, wording: string, of?: 'console']

const table = {
  invalid_utf8: [400, 'The request body is not valid UTF-8.'],
  invalid_json: [400, 'The request body is not valid JSON: {problem}.'],
  invalid_body: [400, 'The request body must be a JSON object, not {found}.'],
  unknown_parameter: [400, 'Unknown parameter "{name}"; allowed parameters: {allowed}.'],
  duplicate_parameter: [400, 'Parameter "{name}" appears more than once.'],
  missing_parameter: [400, 'Parameter "{name}" is missing; {allowed}.'],
  invalid_parameter: [400, 'Parameter "{name}" {problem}.'],
  path_or_selector: [400, 'Give exactly one of {allowed}; this request has {found}.'],
  invalid_path: [400, 'Parameter "{name}" {problem}.'],
  invalid_selector: [400, 'Parameter "selector" {problem}.'],
  invalid_property: [400, 'Property "{name}" {problem}.'],
  invalid_key: [400, 'Parameter "{name}" {problem}.', 'console'],
  no_such_topic: [400, 'There is no topic at the path "{path}".'],
  incompatible_type: [400, 'The topic at the path "{path}" is of type {found}, not {wanted}.'],
  incompatible_properties: [400, 'The topic at the path "{path}" exists with different properties.'],
  not_a_number: [
    400,
    'The topic at the path "{path}" cannot be incremented: its value is not a number, or the old or new value has more than {digits} digits.',
  ],
  invalid_framing: [
    400,
    'It is ambiguous where the request starts or ends; send either one content-length, in bytes, or "transfer-encoding: chunked".',
  ],
  unauthorized: [
    401,
    'Missing or invalid API key: {found}. Send a valid key in the header "authorization: Apikey <API_KEY>".',
  ],
  forbidden_operation: [403, 'This API key may not {operation}.'],
  forbidden_path: [403, 'This API key may not access topics outside its subtrees.'],
  cross_origin: [
    403,
    'Only the console may send this request, not a page of another origin; a proxy must not change the header "host".',
    'console',
  ],
  unknown_route: [404, 'Unknown route; the routes are {allowed}.'],
  method_not_allowed: [405, 'This route accepts only {allowed}.'],
  length_required: [
    411,
    'The request needs a content-length or "transfer-encoding: chunked"; the connection is closed.',
  ],
  body_too_large: [413, 'The request body is larger than the limit of {bytes} bytes.'],
  line_too_long: [400, 'The line is longer than the limit of {bytes} bytes.'],
  invalid_upload: [400, 'An upload must have one operation per line, but this body {problem}; nothing was stored.'],
  upload_refused: [
    400,
    'The service rejected {rejected} of the operations in this upload and applied the other {durable}.',
  ],
  unsatisfied_constraint: [
    409,
    'Constraint not satisfied: at the path "{path}" there is {found}; nothing was changed.',
  ],
  key_conflict: [409, 'Nothing was changed: {problem}.', 'console'],
  since_gone: [410, 'The changes after this token are no longer available; start over without "since".'],
  unsupported_media_type: [415, 'The content-type must be application/json; a batch may also be application/x-ndjson.'],
  unsupported_encoding: [415, 'The content-encoding "{found}" is not supported; send the body without an encoding.'],
  expectation_failed: [417, 'The only supported expectation is "100-continue"; retry without an "expect" header.'],
  too_many_requests: [
    429,
    'This API key has exceeded its rate; retry after the number of seconds in the header "retry-after".',
  ],
  internal_error: [500, 'An unexpected error occurred in the service; see its log.'],
  draining: [503, 'This worker is shutting down; reconnect.'],
  overloaded: [503, 'The service is overloaded; retry later.'],
  store_unavailable: [503, 'The store is unavailable, and nothing was changed; retry later.'],
  write_conflict: [
    503,
    'Too many concurrent writes to one topic, or too many long values to compare in one request. Nothing was changed, except that a removal by selector may already have removed some topics. Retry, with fewer operations if this persists.',
  ],
  unknown_outcome: [
    503,
    'Contact with the store was lost during the commit, so the write may or may not have been applied. Retrying is safe unless it is an increment.',
  ],
  console_unavailable: [503, 'The service cannot do this at the moment: {problem}.', 'console'],
  upload_timed_out: [408, 'No upload data arrived for a minute; resume after the last counted line.'],
  timed_out: [503, 'The request took too long, and a write may or may not have been applied. Request less at a time.'],
  disk_nearly_full: [
    507,
    'The disk is nearly full, so writes that add bytes are rejected; fetch still works, and remove works until the disk is full.',
  ],
} as const satisfies Record<string, Row>

export type ProblemCode = keyof typeof table

/** The names between the braces of a wording, as a union. */
type Blanks<Wording extends string> = Wording extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Blanks<Rest>
  : never

export interface Problem {
  readonly code: ProblemCode
  readonly status: number
  readonly message: string
  /** The index of the rejected operation in a batch. */
  readonly operation?: number
}

/** Reading a member is cheaper than testing for it with `in`. */
export function isProblem(parsed: object | string | undefined): parsed is Problem {
  return typeof parsed === 'object' && (parsed as Partial<Problem>).status !== undefined
}

/** For the test of docs/api.md and for the API description. */
export const problemTable: Readonly<Record<ProblemCode, Row>> = table

/** The maximum length of a caller's text in a message, in UTF-16 units: enough to recognise it. */
const blankUnitsMax = 200

/** @param blanks a value for every `{…}` of the code's wording; long ones are shortened */
export function problem<Code extends ProblemCode>(
  code: Code,
  ...[blanks]: [Blanks<(typeof table)[Code][1]>] extends [never]
    ? []
    : [Readonly<Record<Blanks<(typeof table)[Code][1]>, string>>]
): Problem {
  const [status, wording]: Row = table[code]
  const fill: Readonly<Record<string, string>> = blanks ?? {}
  const message = wording.replace(/\{(\w+)\}/g, (_, name: string) => shorten(fill[name] ?? '', blankUnitsMax))
  return { code, status, message }
}

export function invalidParameter(name: string, found: string, allowed: string): Problem {
  return wrongParameter(name, `must be ${allowed}, not ${found}`)
}

/** @param reason as a clause that follows the parameter's name */
export function wrongParameter(name: string, reason: string): Problem {
  return problem('invalid_parameter', { name, problem: reason })
}

export function shorten(text: string, unitsMax: number): string {
  return text.length <= unitsMax ? text : `${text.slice(0, unitsMax).toWellFormed()}…`
}
