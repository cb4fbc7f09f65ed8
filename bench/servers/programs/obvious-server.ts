/**
 * Shared by both obvious servers: fastify 5 with JSON schemas and an API key, as a developer would write it in an afternoon. Their stores
 * are in fastify-server.ts and fastify-postgres-server.ts.
 */
import Fastify, { type FastifyInstance } from 'fastify'

const bodyBytesMax = 1024 * 1024
const keepAliveMs = 10_000

export interface FetchBody {
  path?: string
  selector?: string
  type: string
  size: number
  after?: string
}

export interface WriteBody {
  path: string
  type: string
  value: unknown
  properties: Record<string, string>
}

const path = { type: 'string', minLength: 1 }
const type = { type: 'string', enum: ['json', 'string'], default: 'json' }
const properties = { type: 'object', additionalProperties: { type: 'string' }, default: {} }
const size = { type: 'integer', minimum: 1, maximum: 1000, default: 10 }

export const fetchSchema = schema({ path, selector: path, type, size, after: path }, [])
export const writeSchema = schema({ path, type, value: {}, properties }, ['path', 'value'])
export const addSchema = schema({ path, type, properties }, ['path'])
export const removeSchema = schema({ path }, ['path'])

/** A server without routes that requires the key in every request. */
export function createServer(key: string): FastifyInstance {
  const server = Fastify({ bodyLimit: bodyBytesMax, keepAliveTimeout: keepAliveMs })
  const keys = new Map([[`Apikey ${key}`, 'bench']])
  server.addHook('onRequest', async (request, reply) => {
    if (!keys.has(request.headers.authorization ?? '')) {
      return reply.code(401).send({ code: 'unauthorized', message: 'An API key is required.' })
    }
  })
  return server
}

/** The path in a selector of the form `*path//`, the only form that these servers support. */
export function subtreeOf(selector: string | undefined): string | undefined {
  return selector?.match(/^\*([\w/-]+)\/\/$/)?.[1]
}

function schema(members: object, required: string[]) {
  return { schema: { body: { type: 'object', properties: members, required, additionalProperties: false } } }
}
