/** How uploads end early: by their bounds, by a drain, by a key that is revoked; and where a client goes on. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { uploadsMax } from '../../dist/http/uploads.js'
import { beginDrain } from '../support/service/drain.js'
import { scrape } from '../support/service/metrics.js'
import { type Server, startServer, until } from '../support/service/server.js'
import { refusedUpload, UploadRequest, upload } from '../support/service/upload.js'

const line = (i: number): string => `{"op":"addAndSet","path":"n/${i}","value":${i}}\n`

t.test('an upload that is announced as too large is refused, one that grows too large ends', async (t) => {
  const bytesMax = 100_000
  const server = await startServer(t, { workers: 1, flags: ['--upload-bytes-max', String(bytesMax)] })
  const padded = (bytes: number): string => {
    const lines = Array.from({ length: 2000 }, (_, i) => line(i)).join('')
    return lines + ' '.repeat(bytes - lines.length)
  }
  for (const length of [bytesMax, undefined]) {
    const lines = await new UploadRequest(server, length).end(padded(bytesMax))
    t.strictSame(lines.at(-1), { done: true, durable: 2000, refused: 0 }, 'as large as allowed')
  }
  const announced = new UploadRequest(server, bytesMax + 1)
  await announced.end(padded(bytesMax + 1)).catch(() => {})
  t.equal(announced.response?.statusCode, 413)
  t.match(announced.text, /"body_too_large".*100000/)
  const growing = new UploadRequest(server)
  await growing.write(line(1))
  await until('it is durable', async () => (growing.last?.durable === 1 ? true : undefined))
  for (let sent = 0; sent < 2 * bytesMax && !growing.isComplete; sent += 10_000)
    await growing.write(`${' '.repeat(9999)}\n`)
  const { code, durable } = (await growing.end()).at(-1) ?? {}
  t.strictSame([code, durable], ['body_too_large', 1])
})

t.test('a drain ends it after what is being written, and its counts say where to go on', async (t) => {
  const server = await startServer(t, { workers: 2 })
  const thousand = (from: number): string => Array.from({ length: 1000 }, (_, i) => line(from + i)).join('')
  let from = 0
  for (let drains = 1; drains <= 2; drains++) {
    const request = new UploadRequest(server)
    const hasEnded = async (): Promise<true | undefined> =>
      request.isComplete || request.error !== undefined || undefined
    await request.write(thousand(from))
    await until('it goes on', async () => (request.last === undefined ? undefined : true))
    server.signal('SIGHUP')
    for (let at = from + 1000; !(await hasEnded()); at += 1000) {
      await Promise.race([request.write(thousand(at)), until('it ends', hasEnded)])
    }
    const { code, durable = 0, refused } = (await request.end()).at(-1) ?? {}
    t.strictSame([code, refused], ['draining', 0])
    from += durable
  }
  t.strictSame((await upload(server, thousand(from))).at(-1), { done: true, durable: 1000, refused: 0 })
  const { text } = await server.post('fetch', { selector: '*n//', count: true })
  t.equal(text, `{"count":${from + 1000}}`, 'nothing is missing')
})

t.test('one that ends early is an error that says how much is durable', async (t) => {
  const server = await startServer(t, { workers: 1 })
  const request = new UploadRequest({ ...server, showsProgress: false })
  await request.write(`not JSON\n${line(1)}`)
  await until('it is durable', async () => (await server.post('fetch', { path: 'n/1' })).status === 200 || undefined)
  server.signal('SIGHUP')
  await until('it ends', async () => request.isComplete || undefined)
  t.match(request.refusal, { status: 503, code: 'draining', durable: 1, refused: 1, lines: [{ line: 1 }] })
  t.equal(request.response?.headers['retry-after'], '1')
})

t.test('a key that is revoked ends it', async (t) => {
  const server = await startServer(t, { workers: 1 })
  const token = await server.addKey('uploader', { allow: ['add', 'set'] })
  const request = new UploadRequest({ ...server, token })
  await request.write(line(1))
  await until('it is durable', async () => (request.last?.durable === 1 ? true : undefined))
  const unauthorized = async (): Promise<number> =>
    (await scrape(server.adminUrl)).value('topicd_rejected_total', { cause: 'unauthorized' })
  const before = await unauthorized()
  await server.request({ command: 'revokeKey', name: 'uploader' })
  const { code, durable } = (await request.end(line(2))).at(-1) ?? {}
  t.strictSame([code, durable], ['unauthorized', 1])
  t.equal(await unauthorized(), before + 1, 'though its answer has begun')
  t.equal((await server.post('fetch', { path: 'n/2' })).code, 'no_such_topic')
})

t.test('so many at a time in a worker, and no more', async (t) => {
  const server = await startServer(t, { workers: 1 })
  const all = Array.from({ length: uploadsMax }, () => new UploadRequest(server))
  for (const [i, request] of all.entries()) await request.write(line(i))
  for (const request of all) await until('it is durable', async () => request.last?.durable || undefined)
  const further = new UploadRequest(server)
  await further.end(line(0)).catch(() => {})
  t.equal(further.response?.statusCode, 503)
  t.match(further.text, /"overloaded"/)
  for (const request of all) t.strictSame((await request.end()).at(-1), { done: true, durable: 1, refused: 0 })
  t.strictSame((await upload(server, line(0))).at(-1), { done: true, durable: 1, refused: 0 }, 'then another')
})

t.test('a client that sends everything before it reads loses neither answer nor memory', async (t) => {
  const server = await startServer(t, { workers: 1 })
  const count = 200_000
  const text = Array.from({ length: count }, (_, i) => `{"op":"set","path":"nothing/${i}","value":1}\n`).join('')
  const lines = await upload({ ...server, showsProgress: true }, text)
  const { refused, unlisted = 0 } = lines.at(-1) ?? {}
  t.equal(refused, count)
  const listed = lines.filter(({ code }) => code === 'no_such_topic').length
  t.equal(listed + unlisted, count, `${listed} listed`)
  t.match(await refusedUpload(server, text), { status: 400, durable: 0, refused: count })
})

t.test('a client that leaves at any moment leaves nothing behind', async (t) => {
  const server = await startServer(t, { workers: 1 })
  for (let i = 0; i < 60; i++) {
    const request = new UploadRequest({ ...server, showsProgress: i % 2 === 0 }, i % 3 === 0 ? 1_000_000 : undefined)
    if (i % 5 > 0) await request.write(line(i).repeat(i % 5 === 1 ? 1 : 5000))
    if (i % 5 > 2) await sleep(i)
    request.close()
  }
  await until('all have left', async () => {
    const metrics = await scrape(server.adminUrl)
    const left = metrics.value('topicd_uploads') + metrics.value('topicd_requests_waiting')
    return left === 0 || undefined
  })
  t.strictSame((await upload(server, line(0))).at(-1), { done: true, durable: 1, refused: 0 })
})

t.test('millions of empty lines keep nobody waiting', async (t) => {
  const server = await startServer(t, { workers: 1 })
  const request = new UploadRequest({ ...server, showsProgress: false })
  let answered = 0
  const isDone = request.end('\n'.repeat(16 * 1024 * 1024) + line(1))
  let isEnded = false
  const others = (async () => {
    for (; !isEnded; answered++) await server.post('fetch', { path: 'n/1' })
  })()
  t.strictSame((await isDone).at(-1), { done: true, durable: 1, refused: 0 })
  isEnded = true
  await others
  t.ok(answered > 20, `${answered} others were answered meanwhile`)
})

function uploadText(server: Server, body: string): string {
  const headers = ['host: topicd', `authorization: Apikey ${server.token}`, 'content-type: application/x-ndjson']
  return `POST /topics/batch HTTP/1.1\r\n${headers.join('\r\n')}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

t.test('what begins while a worker drains is told so', async (t) => {
  const server = await startServer(t, { workers: 1 })
  const connection = await server.raw()
  await connection.write(uploadText(server, line(1)))
  t.match(await connection.answer(), { status: 200 })
  await beginDrain(server)
  await connection.write(uploadText(server, line(2)))
  t.match((await connection.answers(2))[1], { status: 503, body: /"draining"/ })
})

t.test('bytes behind an upload do not take its answer', async (t) => {
  const server = await startServer(t, { workers: 1 })
  const body = Array.from({ length: 1500 }, (_, i) => line(i)).join('')
  const connection = await server.raw()
  const writer = server.writerPid() ?? NaN
  process.kill(writer, 'SIGSTOP')
  await connection.write(uploadText(server, body))
  await until('all of it has arrived', async () => {
    const metrics = await scrape(server.adminUrl)
    return metrics.value('topicd_upload_bytes_total') === body.length || undefined
  })
  await connection.write('more bytes of the body ')
  // On a slow machine it has been replaced for its silence, and the next one carries out what it was sent.
  if (server.writerPid() === writer) process.kill(writer, 'SIGCONT')
  t.match(await connection.answer(), { status: 200, body: /"durable":1500/ })
})

t.test('a source that never ends learns that its upload is refused', async (t) => {
  const server = await startServer(t, { workers: 1 })
  const request = new UploadRequest({ ...server, token: 'unknown' })
  for (let i = 0; request.response === undefined && request.error === undefined; i++) {
    await request.write(line(i))
    await sleep(100)
  }
  t.equal(request.response?.statusCode, 401)
  request.close()
})
