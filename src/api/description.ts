/**
 * The OpenAPI 3.1 description of the service. Its schemas are made by typia, at build time, from the very types that the
 * validators come from, and its errors from the table of problems; only what types cannot say is written here.
 */
import typia from 'typia'
import type { AddAnswer, ErrorAnswer, FetchItem, FetchPage, RemoveAnswer, SetAnswer } from './answers.js'
import type { AddAndSetBody, AddBody, FetchBody, RemoveBody, SetBody } from './bodies.js'
import { problemTable } from './problems.js'

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }
type JsonObject = { readonly [name: string]: Json }

const generated = typia.json.schemas<
  [FetchBody, SetBody, AddAndSetBody, AddBody, RemoveBody, FetchItem, FetchPage, SetAnswer, AddAnswer, RemoveAnswer, ErrorAnswer],
  '3.1'
>()

function isObject(json: Json): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}

/**
 * A generated schema as a client's tools want it: choices of constants as one `enum`; no `readOnly`, which says something
 * about TypeScript here and would keep members out of requests; and no members but those named, which the validators hold
 * requests to.
 */
function tidy(json: Json): Json {
  if (Array.isArray(json)) return json.map(tidy)
  if (!isObject(json)) return json
  const { readOnly: _, required, oneOf, ...rest } = json
  const tidied: Record<string, Json> = Object.fromEntries(Object.entries(rest).map(([name, member]) => [name, tidy(member)]))
  if (Array.isArray(required) && required.length > 0) tidied.required = required
  if (Array.isArray(oneOf)) {
    const constants = oneOf.flatMap((choice: Json) => (isObject(choice) && 'const' in choice ? [choice.const] : []))
    if (constants.length === oneOf.length) Object.assign(tidied, { type: 'string', enum: constants.sort() })
    else tidied.oneOf = tidy(oneOf)
  }
  if (json.type === 'object' && !('additionalProperties' in json)) tidied.additionalProperties = false
  return tidied
}

const onePlace: JsonObject = { oneOf: [{ required: ['path'] }, { required: ['selector'] }] }

function schemas(): JsonObject {
  const tidied = tidy(JSON.parse(JSON.stringify(generated.components.schemas)) as Json) as Record<string, JsonObject>
  return { ...tidied, FetchBody: { ...tidied.FetchBody, ...onePlace }, RemoveBody: { ...tidied.RemoveBody, ...onePlace } }
}

const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` })

const content = (schema: JsonObject): JsonObject => ({ 'application/json': { schema } })

/** The headers that answers of a status carry beside the body. */
const headersByStatus: Readonly<Record<string, JsonObject>> = {
  401: { 'WWW-Authenticate': { schema: { type: 'string' }, description: 'Apikey' } },
  503: { 'Retry-After': { schema: { type: 'integer' }, description: 'Seconds to wait before trying again' } },
}

/** Answers that are not a 200, by status: which codes they carry, and when. */
function problemResponses(): JsonObject {
  const byStatus = new Map<string, string[]>()
  for (const [code, { status, wording }] of Object.entries(problemTable)) {
    byStatus.set(String(status), [...(byStatus.get(String(status)) ?? []), `- \`${code}\`: ${wording}`])
  }
  const responses = [...byStatus].map(([status, lines]) => {
    const headers = headersByStatus[status]
    const response = { description: lines.join('\n'), content: content(ref('ErrorAnswer')) }
    return [`Status${status}`, headers === undefined ? response : { ...response, headers }] as const
  })
  return Object.fromEntries(responses)
}

interface Operation {
  readonly route: string
  readonly summary: string
  readonly body: string
  readonly answer: JsonObject
  readonly answered: string
  /** Whether it can add bytes, and so be refused for lack of room. */
  readonly grows: boolean
}

const operations: readonly Operation[] = [
  {
    route: 'fetch',
    summary: 'Fetches one topic by its path, or a page of the topics that a selector matches.',
    body: 'FetchBody',
    answer: { oneOf: [ref('FetchItem'), ref('FetchPage')] },
    answered: 'The topic, or the page.',
    grows: false,
  },
  {
    route: 'set',
    summary: 'Sets the value of a topic that exists.',
    body: 'SetBody',
    answer: ref('SetAnswer'),
    answered: 'The value is set, on disk, and seen by every later request.',
    grows: true,
  },
  {
    route: 'addAndSet',
    summary: 'Creates a topic if it is missing, and sets its value.',
    body: 'AddAndSetBody',
    answer: ref('AddAnswer'),
    answered: 'The topic is there and its value is set.',
    grows: true,
  },
  {
    route: 'add',
    summary: 'Creates a topic without a value; one that is there already is a success too.',
    body: 'AddBody',
    answer: ref('AddAnswer'),
    answered: 'The topic is there.',
    grows: true,
  },
  {
    route: 'remove',
    summary: 'Removes one topic by its path, without its descendants, or every topic that a selector matches.',
    body: 'RemoveBody',
    answer: ref('RemoveAnswer'),
    answered: 'What was there is gone.',
    grows: false,
  },
]

function describeOperation({ route, summary, body, answer, answered, grows }: Operation): JsonObject {
  const statuses = [400, 401, 403, 411, 413, 415, 417, 500, 503, ...(grows ? [507] : [])]
  return {
    post: {
      operationId: route,
      summary,
      requestBody: { required: true, content: content(ref(body)) },
      responses: {
        200: { description: answered, content: content(answer) },
        ...Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/Status${status}` }])),
      },
    },
  }
}

/**
 * The description, as an object that JSON can carry.
 *
 * @param basePath what comes before /topics/…, without a trailing slash; empty for none
 * @param version the service's
 * @param origin scheme, host and port of the service; without it the document is about the server that it comes from
 */
export function describeApi(basePath: string, version: string, origin = ''): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'topicd',
      version,
      description: 'A topic tree over HTTP. Values come back exactly as they were sent, the text of numbers included.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: `${origin}${basePath}` || '/' }],
    security: [{ apiKey: [] }],
    paths: Object.fromEntries(operations.map((operation) => [`/topics/${operation.route}`, describeOperation(operation)])),
    components: {
      schemas: schemas(),
      responses: problemResponses(),
      securitySchemes: {
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'authorization',
          description: 'The word `Apikey`, a space, and the token that `topicd keys add` printed.',
        },
      },
    },
  }
}
