/**
 * A draining worker sends large answers completely: a client may read its answer as slowly as it likes, within the time
 * that a drain may take.
 */

import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { beginDrain } from '../support/service/drain.js'
import { requestText } from '../support/service/raw.js'
import { startServer, until } from '../support/service/server.js'

/** Room for a page that no kernel buffers completely. */
const pageBytesMax = 32 * 1024 * 1024
const topics = 30

for (const during of ['requested during the drain', 'partly sent when the drain began']) {
  t.test(`a slow reader gets a whole page that was ${during}, and its connection is then closed`, async (t) => {
    const server = await startServer(t, { flags: ['--drain-ms', '60000', '--page-bytes-max', String(pageBytesMax)] })
    for (let i = 0; i < topics; i++) await server.post('addAndSet', { path: `big/${i}`, value: 'x'.repeat(900_000) })
    const request = requestText('/topics/fetch', server.token, `{"selector":"*big//","size":${topics}}`)
    const socket = connect({ host: '127.0.0.1', port: server.port })
    await once(socket, 'connect')
    socket.pause()
    let bytes = 0
    let head = ''
    let closed = false
    socket.on('data', (data: Buffer) => {
      if (head.length < 500) head += data.toString('latin1', 0, 500)
      bytes += data.length
    })
    socket.once('close', () => (closed = true))
    // Adding the 'data' listener has resumed it.
    socket.pause()
    const early = during.startsWith('partly')
    if (early) socket.write(request)
    else socket.write(request.slice(0, -1))
    await server.post('fetch', { path: 'none' })
    await beginDrain(server)
    if (!early) socket.write(request.slice(-1))
    // Longer than a drain waits for connections that have nothing in flight.
    await new Promise((resolve) => setTimeout(resolve, 1500))
    socket.resume()
    await until('the connection is closed', async () => closed || undefined)
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1])
    t.ok(length > topics * 900_000, `${length} bytes are announced`)
    t.equal(bytes, head.indexOf('\r\n\r\n') + 4 + length, 'all of them arrive')
    if (!early) t.match(head, /\r\nconnection: close/i, 'and the answer says that the connection ends')
    t.strictSame(await server.exited, { code: 0, signal: null }, 'the drain ended well')
  })
}
