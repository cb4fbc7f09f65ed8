/** The OpenAPI 3.1 description: operations, examples, and the errors in problems.ts. openapi-schemas.ts builds the schemas. */

import type { SchemaCollection } from '../bodies/shape.js'
import { type ProblemCode, problemTable } from '../problems.js'
import { type ApiRoute, pathOf } from '../routes/route.js'
import { apiRoutes } from '../routes/routes.js'
import { describeSchemas, type SettableBounds } from './openapi-schemas.js'

const ref = (name: string): object => ({ $ref: `#/components/schemas/${name}` })

function oneOf(types: SchemaCollection): object {
  const [first = {}, ...others] = types.schemas
  return others.length === 0 ? first : { oneOf: types.schemas }
}

const content = (schema: object, shown: object = {}): object => ({
  'application/json': { schema, ...shown },
})

const headersByStatus: Readonly<Record<string, object>> = {
  401: { 'WWW-Authenticate': { schema: { type: 'string' }, description: 'Apikey' } },
  429: { 'Retry-After': { schema: { type: 'integer' }, description: 'Seconds to wait before the next attempt' } },
  503: { 'Retry-After': { schema: { type: 'integer' }, description: 'Seconds to wait before the next attempt' } },
}

/** Statuses that no operation in the description has, because they are for other paths and methods. */
const statusesOfNoOperation: readonly number[] = [404, 405]

function problemResponses(): object {
  const byStatus = new Map<number, [ProblemCode, ...ProblemCode[]]>()
  for (const [code, [status, , of]] of Object.entries(problemTable) as [
    ProblemCode,
    (typeof problemTable)[ProblemCode],
  ][]) {
    if (statusesOfNoOperation.includes(status) || of === 'console') continue
    const codes = byStatus.get(status)
    if (codes === undefined) byStatus.set(status, [code])
    else codes.push(code)
  }
  const responses = [...byStatus].map(([status, codes]) => {
    const headers = headersByStatus[status]
    const description = codes.map((code) => `- \`${code}\`: ${problemTable[code][1]}`).join('\n')
    const example = { code: codes[0], message: problemTable[codes[0]][1] }
    const response = { description, content: content(ref('ErrorAnswer'), { example }) }
    return [`Status${status}`, headers === undefined ? response : { ...response, headers }] as const
  })
  return Object.fromEntries(responses)
}

const responseRefs = (statuses: readonly number[]): object =>
  Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/Status${status}` }]))

const statusesOfAll: readonly number[] = [400, 401, 403, 411, 413, 415, 417, 429, 500, 503]

function examplesOf({ examples }: ApiRoute, part: 'request' | 'answer'): object {
  const named = examples.map(({ name, summary, [part]: value }) => [name, { summary, value }] as const)
  return { examples: Object.fromEntries(named) }
}

function describeRoute(route: ApiRoute): object {
  const { operationId, summary, bodies, answers, answered, otherBodies, otherAnswers } = route
  return {
    post: {
      operationId,
      tags: ['topics'],
      summary,
      requestBody: {
        required: true,
        content: { ...content(oneOf(bodies), examplesOf(route, 'request')), ...otherBodies },
      },
      responses: {
        200: {
          description: answered,
          content: { ...content(oneOf(answers), examplesOf(route, 'answer')), ...otherAnswers },
        },
        ...responseRefs([...statusesOfAll, ...route.statuses]),
      },
    },
  }
}

/** Pages for GET, without a key. */
const pages: object = {
  '/healthz': {
    get: {
      operationId: 'getHealth',
      tags: ['service'],
      summary: 'Returns 200 if the responding worker is serving, and 503 while it shuts down.',
      security: [],
      responses: {
        200: {
          description: 'The worker is serving.',
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
      summary: 'Returns this description, with the URL from which it was requested.',
      security: [],
      responses: {
        200: { description: 'The description.', content: content({ type: 'object' }) },
        ...responseRefs([400]),
      },
    },
  },
}

/** `bearer` is first: generated clients use the first scheme they know, and with `bearer` they need only the token. */
const securitySchemes: object = {
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

interface Described extends SettableBounds {
  /** Precedes /topics/…, without a trailing slash; empty for none. */
  readonly basePath: string
  readonly version: string
  /** If missing, URLs are relative to the server of the document. */
  readonly origin?: string
}

export function describeApi({ basePath, version, origin = '', ...settable }: Described): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'topicd',
      version,
      description:
        'A topic tree over HTTP. Values are returned exactly as sent, including the text of numbers. Any other path returns ' +
        '404 `unknown_route`, and any other method gets 405 `method_not_allowed`, both with the usual error body.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: `${origin}${basePath}` || '/' }],
    security: [{ bearer: [] }, { apiKey: [] }],
    tags: [
      { name: 'topics', description: 'Topics: one or many by path, or many by selector.' },
      { name: 'service', description: 'The service itself; no key is needed.' },
    ],
    paths: {
      ...Object.fromEntries(apiRoutes.map((route) => [pathOf(route), describeRoute(route)])),
      ...pages,
    },
    components: { schemas: describeSchemas(settable), responses: problemResponses(), securitySchemes },
  }
}
