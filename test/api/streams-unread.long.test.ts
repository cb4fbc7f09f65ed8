/**
 * Streams whose clients read nothing: each costs its position and what the system has buffered for it, nobody else waits,
 * and one that reads again gets what it lacks.
 */
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { ChangesStream } from '../support/service/changes.js'
import { scrape } from '../support/service/metrics.js'
import { type Server, startServer, until } from '../support/service/server.js'

const unread = 200
const changes = 300
const valueBytes = 50_000

/** What a worker may grow by, in bytes: a thirtieth of what it would be if all that was not read were kept. */
const growthMax = (unread * changes * valueBytes) / 30

t.setTimeout(300_000)

/** Asks for a stream, and reads nothing of it. */
async function openUnread({ url, port, token }: Server): Promise<Socket> {
  const body = JSON.stringify({ selector: '*u//' })
  const socket = connect(port, new URL(url).hostname)
  socket.on('error', () => {})
  socket.pause()
  socket.write(
    [
      'POST /topics/changes HTTP/1.1',
      'host: x',
      `authorization: Apikey ${token}`,
      'content-type: application/json',
      'accept: text/event-stream',
      `content-length: ${body.length}`,
      '',
      body,
    ].join('\r\n'),
  )
  return socket
}

t.test('clients that read nothing cost little, and delay nobody', async (t) => {
  const server = await startServer(t)
  const resident = async (): Promise<number> =>
    (await scrape(server.adminUrl)).value('topicd_worker_resident_memory_bytes')
  const streams = async (): Promise<number> => (await scrape(server.adminUrl)).value('topicd_changes_streams')
  const sockets: Socket[] = []
  t.teardown(() => sockets.forEach((socket) => socket.destroy()))
  for (let i = 0; i < unread; i++) sockets.push(await openUnread(server))
  const { url, token } = server
  const reader = await ChangesStream.open({ url, token }, { selector: '*u//' })
  await reader.complete('the state')
  await until('all are open', async () => ((await streams()) === unread + 1 ? true : undefined))
  const before = await resident()
  let largest = before
  for (let i = 1; i <= changes; i++) {
    const value = `${i} ${'x'.repeat(valueBytes)}`
    await server.post('addAndSet', { path: `u/${i % 10}`, value })
    await reader.complete(`the change ${i}`, ({ topics }) => topics.get(`u/${i % 10}`)?.value === value)
    if (i % 20 === 0) largest = Math.max(largest, await resident())
  }
  t.comment(`${Math.round((largest - before) / 2 ** 20)} MiB more, with ${unread} clients that read nothing`)
  t.ok(largest - before < growthMax, `the worker grew by ${largest - before} bytes at most`)
  const late = sockets.find((socket) => !socket.destroyed)
  let text = ''
  late?.setEncoding('utf8').on('data', (piece: string) => (text = (text + piece).slice(-2 * valueBytes)))
  late?.resume()
  // It may have been closed for reading nothing.
  const last = `"value":"${changes} `
  await until('it has the last change, or is closed', async () =>
    text.includes(last) || late?.destroyed ? true : undefined,
  )
  t.pass('who reads again is not stuck')
  reader.close()
})
