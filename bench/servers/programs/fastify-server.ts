/**
 * The obvious server: fastify 5 with JSON schemas and the same lmdb, as a developer would write it in an afternoon. Values are parsed and
 * printed by JSON, paths are lmdb's own array keys, and a page is a getRange. Like topicd, it flushes before it responds, and checks an API
 * key.
 *
 *     node fastify-server.js PORT DATA WORKERS KEY
 */
import cluster from 'node:cluster'
import { once } from 'node:events'
import type { FastifyInstance } from 'fastify'
import { type Database, open } from 'lmdb'
import {
  addSchema,
  createServer,
  type FetchBody,
  fetchSchema,
  removeSchema,
  subtreeOf,
  type WriteBody,
  writeSchema,
} from './obvious-server.js'

interface Topic {
  type: string
  value?: unknown
  properties: Record<string, string>
}

const [port, data = '', workers, apiKey = ''] = process.argv.slice(2)

if (cluster.isPrimary && Number(workers) > 1) {
  for (let i = 0; i < Number(workers); i++) await once(cluster.fork(), 'message')
  console.log('listening')
  process.once('SIGTERM', () => {
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGTERM')
  })
} else {
  const server = await serve()
  if (cluster.isWorker) process.send?.('listening')
  else console.log('listening')
  process.once('SIGTERM', () => void server.close().then(() => process.exit(0)))
}

async function serve(): Promise<FastifyInstance> {
  const db = open<Topic, string[]>({ path: data, overlappingSync: false })
  const server = createServer(apiKey)
  server.addHook('onClose', () => db.close())
  addFetch(server, db)
  addChanges(server, db)
  await server.listen({ host: '127.0.0.1', port: Number(port) })
  return server
}

function addFetch(server: FastifyInstance, db: Database<Topic, string[]>): void {
  server.post<{ Body: FetchBody }>('/topics/fetch', fetchSchema, async (request, reply) => {
    const { path, selector, type, size, after } = request.body
    if (path !== undefined) {
      const topic = db.get(path.split('/'))
      if (topic?.type !== type)
        return reply.code(400).send({ code: 'no_such_topic', message: 'There is no such topic.' })
      return { path, type, value: topic.value }
    }
    const subtree = subtreeOf(selector)?.split('/')
    if (subtree === undefined) return reply.code(400).send({ code: 'invalid_selector', message: 'Use *path//.' })
    const results = []
    const range = db.getRange({ start: after?.split('/') ?? subtree, end: [...subtree, '\uffff'] })
    for (const { key, value: topic } of range) {
      const path = key.join('/')
      if (topic.type !== type || path === after) continue
      if (results.length === size) return { has_more: true, results }
      results.push({ path, type, value: topic.value })
    }
    return { has_more: false, results }
  })
}

function addChanges(server: FastifyInstance, db: Database<Topic, string[]>): void {
  server.post<{ Body: WriteBody }>('/topics/addAndSet', writeSchema, async (request, reply) => {
    const { path, type, value, properties } = request.body
    const key = path.split('/')
    const topic = db.get(key)
    if (topic !== undefined && topic.type !== type) {
      return reply.code(400).send({ code: 'incompatible_type', message: 'The topic has another type.' })
    }
    await db.put(key, { type, value, properties: topic?.properties ?? properties })
    return { path, created: topic === undefined }
  })

  server.post<{ Body: WriteBody }>('/topics/add', addSchema, async (request) => {
    const { path, type, properties } = request.body
    const key = path.split('/')
    const created = await db.ifNoExists(key, () => void db.put(key, { type, properties }))
    return { path, created }
  })

  server.post<{ Body: WriteBody }>('/topics/remove', removeSchema, async (request) => {
    const removed = await db.remove(request.body.path.split('/'))
    return { removed: removed ? 1 : 0 }
  })
}
