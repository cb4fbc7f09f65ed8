/** A drain sends large responses and streams completely: a client may read as slowly as it likes, within the time of the drain. */
import t, { type Test } from 'tap'
import type { Outlet } from '../../dist/http/answer.js'
import { only } from '../support/elements.js'
import { requestText } from '../support/service/raw.js'
import { serveRoutes } from '../support/service/served.js'
import { until } from '../support/service/server.js'

/** More than a kernel buffers. */
const body = 'x'.repeat(30 * 1024 * 1024)

/** The drain of an idle server: it is over once the server has waited for further requests. */
async function idleDrain(t: Test): Promise<void> {
  const { server, connect } = await serveRoutes(t, [])
  await connect()
  await server.drain(60_000)
}

t.test('slow readers get their complete responses while the server drains', async (t) => {
  let handled = 0
  const handle = () => {
    handled++
    return { status: 200, body }
  }
  const { server, connect } = await serveRoutes(t, [{ path: '/topics/large', isRead: true, handle }])
  const request = requestText('/topics/large', 'any', '{}')
  const [partlySent, requested] = [await connect(), await connect()]
  for (const connection of [partlySent, requested]) connection.pause()
  await partlySent.write(request)
  await requested.write(request.slice(0, -1))
  await until('the first response arrives', async () => handled === 1 || undefined)
  const drained = server.drain(60_000)
  await requested.write(request.slice(-1))
  await until('the second response arrives', async () => handled === 2 || undefined)
  await idleDrain(t)
  for (const connection of [partlySent, requested]) connection.resume()
  for (const [when, connection] of [
    ['partly sent before the drain', partlySent],
    ['requested during the drain', requested],
  ] as const) {
    await connection.closed
    const { answers, rest } = connection.parsed()
    t.equal(rest, '', `${when}: no partial response`)
    t.equal(only(answers).body.length, body.length, `${when}: the whole response arrives`)
    if (connection === requested) t.match(only(answers).head, /\r\nconnection: close/, 'the close is announced')
  }
  await drained
})

t.test('a slow reader gets its whole stream while the server drains', async (t) => {
  let hasBegun = false
  const begin = (outlet: Outlet): void => {
    hasBegun = true
    outlet.send(Buffer.from(body))
    outlet.end(Buffer.from('end'))
  }
  const stream = { filler: Buffer.from('.'), begin, onWritable() {}, onGone() {} }
  const handle = () => ({ status: 200, body: '', stream })
  const { server, connect } = await serveRoutes(t, [{ path: '/topics/stream', isRead: true, handle }])
  const connection = await connect()
  connection.pause()
  await connection.write(requestText('/topics/stream', 'any', '{}'))
  await until('the stream begins', async () => hasBegun || undefined)
  const drained = server.drain(60_000)
  await idleDrain(t)
  connection.resume()
  await connection.closed
  t.ok(connection.received.endsWith('\r\n3\r\nend\r\n0\r\n\r\n'))
  await drained
})
