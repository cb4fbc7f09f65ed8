/**
 * The obvious server over PostgreSQL: fastify 5 with JSON schemas and pg's pool, and one statement per request, as a developer would write
 * it in an afternoon. Values are parsed and printed by JSON; a page is a range of the primary key.
 *
 *     node fastify-postgres-server.js PORT ADDRESS KEY
 */
import pg from 'pg'
import { createServer, type FetchBody, fetchSchema, subtreeOf, type WriteBody, writeSchema } from './obvious-server.js'

const [port, connectionString, apiKey = ''] = process.argv.slice(2)

/** Twice pg's default: in trials with 64 clients, more connections did not make it faster. */
const connectionsMax = 20

const pool = new pg.Pool({ connectionString, max: connectionsMax })
await pool.query(
  'create table if not exists obvious (path text collate "C" primary key, type text not null, value json, properties json not null)',
)

const server = createServer(apiKey)
server.addHook('onClose', () => pool.end())

server.post<{ Body: FetchBody }>('/topics/fetch', fetchSchema, async (request, reply) => {
  const { path, selector, type, size, after } = request.body
  if (path !== undefined) {
    const { rows } = await pool.query({
      name: 'one',
      text: 'select value from obvious where path = $1 and type = $2',
      values: [path, type],
    })
    if (rows.length === 0) return reply.code(400).send({ code: 'no_such_topic', message: 'There is no such topic.' })
    return { path, type, value: rows[0].value }
  }
  const subtree = subtreeOf(selector)
  if (subtree === undefined) return reply.code(400).send({ code: 'invalid_selector', message: 'Use *path//.' })
  // The root of a subtree and all topics below it; "0" is the character after "/".
  const text = `select path, type, value from obvious
    where (path = $1 or path >= $1 || '/' and path < $1 || '0') and path > $2 and type = $3 order by path limit $4`
  const { rows } = await pool.query({ name: 'page', text, values: [subtree, after ?? '', type, size + 1] })
  return { has_more: rows.length > size, results: rows.slice(0, size) }
})

server.post<{ Body: WriteBody }>('/topics/addAndSet', writeSchema, async (request, reply) => {
  const { path, type, value, properties } = request.body
  const text = `insert into obvious as o (path, type, value, properties) values ($1, $2, $3, $4)
    on conflict (path) do update set value = excluded.value where o.type = excluded.type returning xmax = 0 as created`
  const { rows } = await pool.query({ name: 'upsert', text, values: [path, type, JSON.stringify(value), properties] })
  if (rows.length === 0)
    return reply.code(400).send({ code: 'incompatible_type', message: 'The topic has another type.' })
  return { path, created: rows[0].created }
})

await server.listen({ host: '127.0.0.1', port: Number(port) })
console.log('listening')
process.once('SIGTERM', () => void server.close().then(() => process.exit(0)))
