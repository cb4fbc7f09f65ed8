/**
 * Responses that end their connection are complete, regardless of why it ends, of bytes after the request, and of the room left
 * for the response.
 */
import t from 'tap'
import { beginDrain } from '../support/service/drain.js'
import { chunkedText, lastRequests } from '../support/service/last-requests.js'
import { scrape } from '../support/service/metrics.js'
import { barrier, requestText } from '../support/service/raw.js'
import { startServer, until } from '../support/service/server.js'
import { upload } from '../support/service/upload.js'

/** Idle connections are closed after about 10 s. */
const idleMs = 8000

const flags = ['--cors-origins', '*', '--page-size-max', '10000', '--page-bytes-max', '33554432']

const server = await startServer(t, { workers: 1, flags })

for (const [name, { text, status }] of Object.entries(lastRequests(server.token))) {
  await t.test(`the last response of a connection is complete: ${name}`, async (t) => {
    const before = server.workerPids()
    for (const pieces of [[text], [text.slice(0, -1), text.slice(-1)]]) {
      const connection = await server.raw()
      const startMs = performance.now()
      for (const piece of pieces) {
        await connection.write(piece)
        // The worker reads each piece on its own.
        await barrier(server)
      }
      await connection.closed
      t.ok(performance.now() - startMs < idleMs, 'the service closes the connection before the idle timeout')
      const [head = '', body = ''] = connection.received.split('\r\n\r\n')
      t.equal(Number(head.slice(9, 12)), status)
      t.match(head, /\r\nconnection: close/i)
      t.match(head, /\r\ndate: \w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT/i)
      const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
      const hasBody = status !== 204 && status !== 304 && !text.startsWith('HEAD')
      t.equal(length === undefined, status === 204 || status === 304, 'the length is announced')
      t.equal(Buffer.byteLength(body, 'latin1'), hasBody ? Number(length) : 0, 'exactly the body arrives')
    }
    t.strictSame(server.workerPids(), before, 'no worker has exited')
  })
}

await t.test('simultaneous fetches with chunked bodies each get their own page', async (t) => {
  const numbers = Array.from({ length: 30 }, (_, i) => i)
  await Promise.all(numbers.map((i) => server.post('addAndSet', { path: `own/${i}`, value: 'x'.repeat(i) })))
  const connections = await Promise.all(numbers.map(() => server.raw()))
  const text = (i: number) => chunkedText(server.token, JSON.stringify({ selector: `?own/${i}`, with_values: true }))
  await Promise.all(connections.map((connection, i) => connection.write(text(i))))
  for (const [i, connection] of connections.entries()) {
    const item = `{"path":"own/${i}","type":"json","value":"${'x'.repeat(i)}"}`
    t.equal((await connection.answer())?.body, `{"has_more":false,"results":[${item}]}`)
  }
})

/** More than three of the other values, and small enough to wait in the library. */
const lastValueBytes = 12_000
const valueBytes = 4_000
const values = 3_000

/** Requests this many values and one more response, the last, and reads nothing until both have been sent. */
async function askWithoutReading(size: number) {
  const connection = await server.raw()
  connection.pause()
  const fetch = JSON.stringify({ selector: '*full//', size })
  const seen = async (): Promise<readonly [answers: number, connections: number]> => {
    const metrics = await scrape(server.adminUrl)
    return [metrics.value('topicd_requests_total'), metrics.value('topicd_connections')]
  }
  const [answersBefore, connectionsBefore] = await seen()
  await connection.write(
    requestText('/topics/fetch', server.token, fetch) + chunkedText(server.token, '{"path":"last"}'),
  )
  await until('both answers are sent, or the second request has ended the connection', async () => {
    const [answers, connections] = await seen()
    return answers >= answersBefore + 2 || connections < connectionsBefore || undefined
  })
  connection.resume()
  await connection.closed
  return connection.parsed()
}

await t.test('a response arrives complete even if the kernel has little room for it', async (t) => {
  const line = (i: number) =>
    `${JSON.stringify({ op: 'addAndSet', path: `full/${i}`, value: 'x'.repeat(valueBytes) })}\n`
  await upload(server, Array.from({ length: values }, (_, i) => line(i)).join(''))
  await server.post('addAndSet', { path: 'last', value: 'y'.repeat(lastValueBytes) })
  /** Whether the kernel takes this many values together; if not, the second request ends the connection. */
  const fits = async (size: number): Promise<boolean> => {
    const { answers, rest } = await askWithoutReading(size)
    if (answers.length === 0) return false
    t.equal(answers.length, 2, `${size} values leave room for the last response`)
    t.equal(rest, '')
    return true
  }
  let [fitting, tooMany] = [1, values]
  while (tooMany - fitting > 1) {
    const size = Math.floor((fitting + tooMany) / 2)
    if (await fits(size)) fitting = size
    else tooMany = size
  }
  t.ok(fitting > 1 && tooMany < values, `${fitting} values fit`)
  // The room varies from one connection to the next.
  let tried = 0
  for (let more = 4; more >= -4 || (tried === 0 && fitting + more > 0); more -= more >= -4 ? 1 : -more)
    if (await fits(fitting + more)) tried++
  t.ok(tried > 0, `${tried} sizes around it also fit`)
})

await t.test('the last fetch on a connection is answered even if a request follows in the same piece', async (t) => {
  await server.post('addAndSet', { path: 'a', value: 'x'.repeat(1000) })
  const fetch = (...headers: readonly string[]): string =>
    requestText('/topics/fetch', server.token, '{"path":"a"}', headers)
  const connection = await server.raw()
  await connection.write(fetch('connection: close') + fetch('connection: close'))
  const [answer] = await connection.answers(1)
  t.match(answer, { status: 200, head: /\r\nconnection: close/, body: /"x{1000}"\}$/ })
  await connection.closed

  const connections = await Promise.all(Array.from({ length: 20 }, () => server.raw()))
  await beginDrain(server)
  for (const connection of connections) {
    await connection.write(fetch() + fetch() + fetch())
    const statuses = (await connection.answers(3)).map(({ status }) => status)
    t.strictSame(statuses, [200, 200, 200], 'during a drain')
  }
})
