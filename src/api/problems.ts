/**
 * Every answer that is not a 200: one closed table of codes, statuses and wordings. docs/api.md lists it; a test keeps
 * the two in step. Codes are stable, and clients may match on them; wordings may improve.
 *
 * A wording is one sentence: what is wrong, where, what is allowed. `{…}` is filled in where the problem is found,
 * always in the same words. No message contains a stack trace or a token.
 */

/** `console` marks the codes of the console's own routes, which the API description leaves out. */
type Row = readonly [status: number, wording: string, of?: 'console']

const table = {
  invalid_utf8: [400, 'The request body is not valid UTF-8.'],
  invalid_json: [400, 'The request body is not valid JSON: {problem}.'],
  invalid_body: [400, 'The request body must be a JSON object, but it is {found}.'],
  unknown_parameter: [400, 'Parameter "{name}" is not known here; allowed are {allowed}.'],
  duplicate_parameter: [400, 'Parameter "{name}" is given more than once; each may be given once.'],
  missing_parameter: [400, 'Parameter "{name}" is missing; {allowed}.'],
  invalid_parameter: [400, 'Parameter "{name}" is {found}; {allowed} is allowed.'],
  path_or_selector: [400, 'Exactly one of the parameters {allowed} is required, but {found} given.'],
  invalid_path: [400, 'Parameter "{name}" {problem}.'],
  invalid_selector: [400, 'Parameter "selector" {problem}.'],
  invalid_property: [400, 'Property "{name}" {problem}.'],
  invalid_key: [400, 'Parameter "{name}" {problem}.', 'console'],
  no_such_topic: [400, 'There is no topic at the path "{path}".'],
  incompatible_type: [400, 'The topic at the path "{path}" is of type {found}, not {wanted}.'],
  incompatible_properties: [400, 'The topic at the path "{path}" exists with different properties.'],
  not_a_number: [
    400,
    'The topic at the path "{path}" cannot be incremented: its value is not a number, or has or would have more than {digits} digits.',
  ],
  invalid_framing: [
    400,
    'It is unclear where the request begins or ends; one content-length, in bytes, or "transfer-encoding: chunked" alone, is allowed.',
  ],
  unauthorized: [401, 'A known API key is required, in the header "authorization: Apikey <API_KEY>", but {found}.'],
  forbidden_operation: [403, 'This API key may not {operation}.'],
  forbidden_path: [403, 'This API key may not touch topics outside its subtrees.'],
  cross_origin: [
    403,
    'Only the console itself may send this request, but it comes from a page of another origin; a proxy must leave the header "host" as it is.',
    'console',
  ],
  unknown_route: [404, 'There is no such route; the routes are {allowed}.'],
  method_not_allowed: [405, 'This route accepts only {allowed}.'],
  length_required: [
    411,
    'The request needs a content-length, or "transfer-encoding: chunked"; the connection is closed.',
  ],
  body_too_large: [413, 'The request body is larger than the {bytes} bytes allowed.'],
  line_too_long: [400, 'The line is longer than the {bytes} bytes allowed.'],
  invalid_upload: [400, 'An upload has one operation on each line, but this body {problem}; nothing was stored.'],
  upload_refused: [
    400,
    'The service refused {refused} of the operations in this upload and applied the other {durable}.',
  ],
  unsatisfied_constraint: [
    409,
    'The constraint does not hold: at the path "{path}" there is {found}; nothing was changed.',
  ],
  key_conflict: [409, 'Nothing was changed: {problem}.', 'console'],
  since_gone: [410, 'What changed since then is no longer known, or was lost; begin again without "since".'],
  unsupported_media_type: [415, 'The content-type must be application/json; for a batch also application/x-ndjson.'],
  unsupported_encoding: [415, 'The content-encoding "{found}" is not supported; send the body without an encoding.'],
  expectation_failed: [
    417,
    'The only supported expectation is "100-continue"; repeat the request without an "expect" header.',
  ],
  too_many_requests: [
    429,
    'This API key has exceeded its rate; try again after the number of seconds in the header "retry-after".',
  ],
  internal_error: [500, 'An unexpected error occurred in the service; its log says more.'],
  draining: [503, 'This worker is stopping; connect again.'],
  overloaded: [503, 'The service is overloaded; try again later.'],
  store_unavailable: [503, 'The store cannot be reached at the moment; nothing was changed; try again later.'],
  write_conflict: [
    503,
    'Too many concurrent writes to one topic, or too many long values to compare at once; nothing was changed, except that a removal by selector may be partly done; try again, perhaps with fewer operations.',
  ],
  unknown_outcome: [
    503,
    'The store was lost during the commit, so the write may or may not have happened; repeating it is safe, unless it is an increment.',
  ],
  console_unavailable: [503, 'The service cannot answer this at the moment: {problem}.', 'console'],
  upload_timed_out: [408, 'Nothing of the upload has arrived for a minute; go on where it ended.'],
  timed_out: [503, 'The request took too long, and a write may or may not have happened; ask for less at a time.'],
  disk_nearly_full: [
    507,
    'The disk is nearly full, so writes that add bytes are refused; fetch still works, and remove works until it is full.',
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
  /** The index of the refused operation in a batch. */
  readonly operation?: number
}

/** Reading a member costs less than asking for it by `in`. */
export function isProblem(parsed: object | string | undefined): parsed is Problem {
  return typeof parsed === 'object' && (parsed as Partial<Problem>).status !== undefined
}

/** For the check of docs/api.md, and for the API description. */
export const problemTable: Readonly<Record<ProblemCode, Row>> = table

/** The longest part of a caller's text that a message repeats, in UTF-16 units: enough to recognise it. */
const blankUnitsMax = 200

/** @param blanks a text for every `{…}` of the code's wording; long ones are shortened */
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
  return problem('invalid_parameter', { name, found, allowed })
}

export function shorten(text: string, unitsMax: number): string {
  return text.length <= unitsMax ? text : `${text.slice(0, unitsMax).toWellFormed()}…`
}
