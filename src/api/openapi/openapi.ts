/**
 * The OpenAPI 3.1 description of the service: its operations, their examples, and its errors from the table of
 * problems. The schemas are in openapi-schemas.ts.
 */

import { type ProblemCode, problemTable } from '../problems.js'
import { type Example, examples } from './openapi-examples.js'
import { describeSchemas, type JsonObject, type SettableBounds } from './openapi-schemas.js'

type SchemaNames = readonly [string, ...string[]]

const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` })

/** The schema of a value that matches exactly one of these. */
function oneOf(names: SchemaNames): JsonObject {
  const [first, ...others] = names
  return others.length === 0 ? ref(first) : { oneOf: names.map(ref) }
}

const content = (schema: JsonObject, shown: JsonObject = {}): JsonObject => ({
  'application/json': { schema, ...shown },
})

/** The headers that answers with a status carry. */
const headersByStatus: Readonly<Record<string, JsonObject>> = {
  401: { 'WWW-Authenticate': { schema: { type: 'string' }, description: 'Apikey' } },
  429: { 'Retry-After': { schema: { type: 'integer' }, description: 'Seconds to wait before trying again' } },
  503: { 'Retry-After': { schema: { type: 'integer' }, description: 'Seconds to wait before trying again' } },
}

/** Statuses that no operation in the description has: they are for any other path or method. */
const statusesOfNoOperation: readonly number[] = [404, 405]

/** Answers other than 200, by status: which codes they carry, and when. */
function problemResponses(): JsonObject {
  const byStatus = new Map<number, [ProblemCode, ...ProblemCode[]]>()
  for (const [code, { status }] of Object.entries(problemTable) as [ProblemCode, { status: number }][]) {
    if (statusesOfNoOperation.includes(status)) continue
    const codes = byStatus.get(status)
    if (codes === undefined) byStatus.set(status, [code])
    else codes.push(code)
  }
  const responses = [...byStatus].map(([status, codes]) => {
    const headers = headersByStatus[status]
    const description = codes.map((code) => `- \`${code}\`: ${problemTable[code].wording}`).join('\n')
    const example = { code: codes[0], message: problemTable[codes[0]].wording }
    const response = { description, content: content(ref('ErrorAnswer'), { example }) }
    return [`Status${status}`, headers === undefined ? response : { ...response, headers }] as const
  })
  return Object.fromEntries(responses)
}

const responseRefs = (statuses: readonly number[]): JsonObject =>
  Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/Status${status}` }]))

interface Operation {
  readonly route: keyof typeof examples
  /** What a generated client calls it: the route's name and its object, since `fetch` alone would shadow the platform's. */
  readonly operationId: string
  readonly summary: string
  /** The names of the schemas of a request, and of an answer. */
  readonly bodies: SchemaNames
  readonly answers: SchemaNames
  readonly answered: string
  /** Whether it changes anything, and so can be refused when the disk is full, or nearly so. */
  readonly writes: boolean
}

const operations: readonly Operation[] = [
  {
    route: 'fetch',
    operationId: 'fetchTopics',
    summary: 'Fetches one topic or many by path, a page of the topics that a selector matches, or their number.',
    bodies: ['FetchByPath', 'FetchByPaths', 'FetchBySelector'],
    answers: ['FetchItem', 'FetchedPaths', 'FetchPage', 'CountAnswer'],
    answered: 'The topic or topics, the page, or the number.',
    writes: false,
  },
  {
    route: 'changes',
    operationId: 'fetchChanges',
    summary: 'Returns what changed since an earlier response, or the present state first; may wait for a change.',
    bodies: ['ChangesBody'],
    answers: ['ChangesPage'],
    answered:
      'A page of changes. With `accept: text/event-stream`, a stream of events: the data of each is such a page, and its ' +
      'id the `next` of that page.',
    writes: false,
  },
  {
    route: 'set',
    operationId: 'setTopic',
    summary: 'Sets the value of an existing topic, or adds a number to it.',
    bodies: ['SetBody', 'IncrementBody'],
    answers: ['SetAnswer', 'IncrementAnswer'],
    answered: 'The value is set, on disk, and seen by every later request.',
    writes: true,
  },
  {
    route: 'addAndSet',
    operationId: 'addAndSetTopic',
    summary: 'Creates a topic if it does not exist, and sets its value.',
    bodies: ['AddAndSetBody'],
    answers: ['AddAnswer'],
    answered: 'The topic exists and its value is set.',
    writes: true,
  },
  {
    route: 'add',
    operationId: 'addTopic',
    summary: 'Creates a topic without a value; also succeeds if the topic already exists.',
    bodies: ['AddBody'],
    answers: ['AddAnswer'],
    answered: 'The topic exists.',
    writes: true,
  },
  {
    route: 'remove',
    operationId: 'removeTopics',
    summary: 'Removes one topic by path, without its descendants, or every topic that a selector matches.',
    bodies: ['RemoveByPath', 'RemoveBySelector'],
    answers: ['RemoveAnswer'],
    answered: 'The topics are removed.',
    writes: true,
  },
  {
    route: 'batch',
    operationId: 'batch',
    summary: 'Runs many operations on topics by path in one commit: all of them or none, or each on its own.',
    bodies: ['BatchBody'],
    answers: ['BatchAnswer'],
    answered:
      'All operations are carried out, or each that is not refused. No other request sees only some of them. With lines: ' +
      'every line is stored, unless `accept: application/x-ndjson` asks for a stream; else 400 `upload_refused`.',
    writes: true,
  },
]

/** A stream of changes. */
const events: JsonObject = {
  'text/event-stream': {
    schema: { type: 'string' },
    example: 'retry: 2718\n\nid: AQAUQtbYYg\ndata: {"has_more":false,"results":[],"next":"AQAUQtbYYg"}\n\n',
  },
}

/** An upload of operations, and its answer. */
const uploaded: JsonObject = {
  'application/x-ndjson': {
    schema: { type: 'string' },
    example: '{"op":"addAndSet","path":"plant/7/temp","value":21.5}\n{"op":"remove","path":"plant/7/alarm"}\n',
  },
}
const counted: JsonObject = {
  'application/x-ndjson': { schema: { type: 'string' }, example: '{"done":true,"durable":2,"refused":0}\n' },
}

/** What a route takes and answers besides JSON. */
const otherRequests: Readonly<Record<string, JsonObject>> = { batch: uploaded }
const otherAnswers: Readonly<Record<string, JsonObject>> = { changes: events, batch: counted }

/** The requests or the answers of a route's examples, as a media type shows them. */
function examplesOf(route: keyof typeof examples, part: 'request' | 'answer'): JsonObject {
  const named = (examples[route] as readonly Example[]).map(
    ({ name, summary, [part]: value }) => [name, { summary, value }] as const,
  )
  return { examples: Object.fromEntries(named) }
}

function describeOperation({ route, operationId, summary, bodies, answers, answered, writes }: Operation): JsonObject {
  const silent = route === 'batch' ? [408] : []
  const conflicts = writes ? [409] : []
  const expired = route === 'changes' ? [410] : []
  const statuses = [
    400,
    401,
    403,
    ...silent,
    ...conflicts,
    ...expired,
    411,
    413,
    415,
    417,
    429,
    500,
    503,
    ...(writes ? [507] : []),
  ]
  return {
    post: {
      operationId,
      tags: ['topics'],
      summary,
      requestBody: {
        required: true,
        content: { ...content(oneOf(bodies), examplesOf(route, 'request')), ...otherRequests[route] },
      },
      responses: {
        200: {
          description: answered,
          content: { ...content(oneOf(answers), examplesOf(route, 'answer')), ...otherAnswers[route] },
        },
        ...responseRefs(statuses),
      },
    },
  }
}

/** The pages that are read by GET, without a key. */
const pages: JsonObject = {
  '/healthz': {
    get: {
      operationId: 'getHealth',
      tags: ['service'],
      summary: 'Whether the worker that responds is serving; 503 while it stops.',
      security: [],
      responses: {
        200: {
          description: 'It is serving.',
          content: content({
            type: 'object',
            properties: { status: { type: 'string', const: 'serving' } },
            required: ['status'],
            additionalProperties: false,
          }),
        },
        ...responseRefs([400, 503]),
      },
    },
  },
  '/openapi.json': {
    get: {
      operationId: 'getDescription',
      tags: ['service'],
      summary: 'This description, with the URL it was requested from.',
      security: [],
      responses: {
        200: { description: 'The description.', content: content({ type: 'object' }) },
        ...responseRefs([400]),
      },
    },
  },
}

/** `bearer` first: generated clients use the first that they know, and only with it they need no more than the token. */
const securitySchemes: JsonObject = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'The word `Bearer`, a space, and the token that `topicd keys add` printed.',
  },
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'authorization',
    description: 'The same token after the word `Apikey`.',
  },
}

/** The service that is described. */
interface Described extends SettableBounds {
  /** What comes before /topics/…, without a trailing slash; empty for none. */
  readonly basePath: string
  /** The version of the service. */
  readonly version: string
  /** Scheme, host and port of the service; without it, URLs are relative to the server that the document comes from. */
  readonly origin?: string
}

/** The description, as an object that JSON can represent. */
export function describeApi({ basePath, version, origin = '', ...settable }: Described): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'topicd',
      version,
      description:
        'A topic tree over HTTP. Values come back exactly as sent, including the text of numbers. Any other path gets ' +
        '404 `unknown_route`, any other method 405 `method_not_allowed`, both with a body like every other error.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: `${origin}${basePath}` || '/' }],
    security: [{ bearer: [] }, { apiKey: [] }],
    tags: [
      { name: 'topics', description: 'Topics: one by path, or many by selector.' },
      { name: 'service', description: 'The service itself; no key is needed.' },
    ],
    paths: {
      ...Object.fromEntries(
        operations.map((operation) => [`/topics/${operation.route}`, describeOperation(operation)]),
      ),
      ...pages,
    },
    components: { schemas: describeSchemas(settable), responses: problemResponses(), securitySchemes },
  }
}
