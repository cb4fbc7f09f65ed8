/**
 * A draining worker sends large answers completely: a client may read its answer as slowly as it likes, within the time
 * that a drain may take.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { only } from '../support/elements.js'
import { beginDrain } from '../support/service/drain.js'
import { requestText } from '../support/service/raw.js'
import { startServer } from '../support/service/server.js'

/** Room for a page that no kernel buffers completely. */
const pageBytesMax = 32 * 1024 * 1024
const topics = 30

t.test('slow readers get their whole pages from a draining worker', async (t) => {
  const server = await startServer(t, { flags: ['--drain-ms', '60000', '--page-bytes-max', String(pageBytesMax)] })
  for (let i = 0; i < topics; i++) await server.post('addAndSet', { path: `big/${i}`, value: 'x'.repeat(900_000) })
  const request = requestText('/topics/fetch', server.token, `{"selector":"*big//","size":${topics}}`)
  const [partlySent, requested] = [await server.raw(), await server.raw()]
  for (const connection of [partlySent, requested]) connection.pause()
  await partlySent.write(request)
  await requested.write(request.slice(0, -1))
  const idle = await server.raw()
  await server.post('fetch', { path: 'none' })
  await beginDrain(server)
  await requested.write(request.slice(-1))
  // Longer than a drain waits with nothing in flight; the answer shows that the worker has looked since.
  await sleep(1500)
  await idle.write('GET /healthz HTTP/1.1\r\nhost: topicd\r\n\r\n')
  t.equal((await idle.answer())?.status, 503, 'it drains still')
  for (const connection of [partlySent, requested]) connection.resume()
  for (const [when, connection] of [
    ['partly sent before the drain', partlySent],
    ['requested during the drain', requested],
  ] as const) {
    await connection.closed
    const { answers, rest } = connection.parsed()
    t.equal(rest, '', `${when}: no part of an answer`)
    t.ok(only(answers).body.length > topics * 900_000, `${when}: ${only(answers).body.length} bytes arrive`)
    if (connection === requested) t.match(only(answers).head, /\r\nconnection: close/, 'it says that it ends')
  }
  t.strictSame(await server.exited, { code: 0, signal: null }, 'the drain ended well')
})
