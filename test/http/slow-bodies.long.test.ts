/** Bodies over slow links: they may take longer than the library allows, as long as data keeps arriving. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { mayStillArrive } from '../../dist/http/body.js'
import { headText } from '../support/service/raw.js'
import { startServer } from '../support/service/server.js'

/** Longer than the 10 s for which the library waits for 160 KiB. */
const pieces = 30
const pieceMs = 500

t.test('a body may arrive slowly but must not stop arriving', async (t) => {
  const server = await startServer(t)
  const head = (framing: string): string => headText('/topics/addAndSet', server.token, framing)
  const send = async (framing: string, body: string, encode: (piece: string) => string, end = '') => {
    const connection = await server.raw()
    await connection.write(head(framing))
    const bytes = Math.ceil(body.length / pieces)
    for (let at = 0; at < body.length; at += bytes) {
      await connection.write(encode(body.slice(at, at + bytes)))
      await sleep(pieceMs)
    }
    await connection.write(end)
    return connection.answer()
  }
  const bodyFor = (path: string): string => JSON.stringify({ path, value: 'x'.repeat(100 * pieces) })
  const chunk = (piece: string): string => `${piece.length.toString(16)}\r\n${piece}\r\n`
  const silent = await server.raw()
  await silent.write(`${head('content-length: 1000')}{`)
  const [known, chunked] = await Promise.all([
    send(`content-length: ${bodyFor('known').length}`, bodyFor('known'), (piece) => piece),
    send('transfer-encoding: chunked', bodyFor('chunked'), chunk, '0\r\n\r\n'),
    silent.closed,
  ])
  t.match(known, { status: 200, body: '{"path":"known","created":true}' })
  t.match(chunked, { status: 200, body: '{"path":"chunked","created":true}' })
  t.equal(silent.received, '', 'a body that stops is abandoned')
})

t.test('the time limit for a body depends on its size', async (t) => {
  t.ok(mayStillArrive(100, 119_000))
  t.notOk(mayStillArrive(100, 121_000))
  t.ok(mayStillArrive(16_000_000, 1_119_000), 'a large body has more time')
  t.notOk(mayStillArrive(16_000_000, 1_121_000))
})
