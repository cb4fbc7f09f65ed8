/** Uploads that end early because of a limit, a drain or a revoked key, and where clients resume. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { uploadsMax } from '../../dist/http/uploads.js'
import { beginDrain } from '../support/service/drain.js'
import { scrape } from '../support/service/metrics.js'
import { type Server, startServer, until } from '../support/service/server.js'
import { UploadRequest, upload } from '../support/service/upload.js'

const line = (i: number): string => `{"op":"addAndSet","path":"n/${i}","value":${i}}\n`
const lines = (from: number, count: number): string => Array.from({ length: count }, (_, i) => line(from + i)).join('')
const oneDone = { done: true, durable: 1, refused: 0 }

/** Waits until the upload's response reports this many durable lines. */
const isDurable = (request: UploadRequest, count: number) =>
  until(`${count} lines are durable`, async () => request.last?.durable === count || undefined)

function uploadText(server: Server, body: string): string {
  const headers = ['host: topicd', `authorization: Apikey ${server.token}`, 'content-type: application/x-ndjson']
  return `POST /topics/batch HTTP/1.1\r\n${headers.join('\r\n')}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

t.test('an upload that is announced as too large is rejected, and one that grows too large is stopped', async (t) => {
  const bytesMax = 100_000
  const server = await startServer(t, { flags: ['--upload-bytes-max', String(bytesMax)] })
  const padded = lines(0, 2000).padEnd(bytesMax)
  for (const length of [bytesMax, undefined]) {
    const answer = await new UploadRequest(server, length).end(padded)
    t.strictSame(answer.at(-1), { done: true, durable: 2000, refused: 0 }, 'as large as allowed')
  }
  const announced = new UploadRequest(server, bytesMax + 1)
  await announced.end(`${padded} `).catch(() => {})
  t.equal(announced.response?.statusCode, 413)
  t.match(announced.text, /"body_too_large".*100000/)
  const growing = new UploadRequest(server)
  await growing.write(line(1))
  await isDurable(growing, 1)
  for (let sent = 0; sent < 2 * bytesMax && !growing.isComplete; sent += 10_000)
    await growing.write(`${' '.repeat(9999)}\n`)
  const { code, durable } = (await growing.end()).at(-1) ?? {}
  t.strictSame([code, durable], ['body_too_large', 1])
})

t.test('a drain ends an upload, and the counts in the response show where to resume', async (t) => {
  const server = await startServer(t)
  const request = new UploadRequest(server)
  const hasEnded = async (): Promise<true | undefined> => request.isComplete || request.error !== undefined || undefined
  await request.write(lines(0, 1000))
  await until('the response has started', async () => (request.last === undefined ? undefined : true))
  server.signal('SIGHUP')
  // Sends 1,000 lines at a time, with pauses; otherwise the restart would wait for CPU time.
  for (let at = 1000; !(await hasEnded()); at += 1000) {
    await Promise.race([request.write(lines(at, 1000)), until('the upload ends', hasEnded)])
    await sleep(20)
  }
  const { code, durable = 0, refused } = (await request.end()).at(-1) ?? {}
  t.strictSame([code, refused], ['draining', 0])
  t.strictSame((await upload(server, lines(durable, 1000))).at(-1), { done: true, durable: 1000, refused: 0 })
  const { text } = await server.post('fetch', { selector: '*n//', count: true })
  t.equal(text, `{"count":${durable + 1000}}`, 'no line is missing')

  await server.logged('rolling restart done')
  const silent = new UploadRequest({ ...server, showsProgress: false })
  await silent.write(`not JSON\n${line(-1)}`)
  await until('line 2 exists', async () => (await server.post('fetch', { path: 'n/-1' })).status === 200 || undefined)
  server.signal('SIGHUP')
  await until('the upload ends', async () => silent.isComplete || undefined)
  t.match(silent.refusal, { status: 503, code: 'draining', durable: 1, refused: 1, lines: [{ line: 1 }] })
  t.equal(silent.response?.headers['retry-after'], '1')
})

t.test('a service with a single worker ends uploads correctly', async (t) => {
  const server = await startServer(t)

  await t.test('revoking a key ends its upload', async (t) => {
    const token = await server.addKey('uploader', { allow: ['add', 'set'] })
    const request = new UploadRequest({ ...server, token })
    await request.write(line(1))
    await isDurable(request, 1)
    const unauthorized = async (): Promise<number> =>
      (await scrape(server.adminUrl)).value('topicd_rejected_total', { cause: 'unauthorized' })
    const before = await unauthorized()
    await server.request({ command: 'revokeKey', name: 'uploader' })
    const { code, durable } = (await request.end(line(2))).at(-1) ?? {}
    t.strictSame([code, durable], ['unauthorized', 1])
    t.equal(await unauthorized(), before + 1, 'the rejection is counted, although the response has started')
    t.equal((await server.post('fetch', { path: 'n/2' })).code, 'no_such_topic')
  })

  await t.test(`a worker accepts ${uploadsMax} uploads at a time and rejects one more`, async (t) => {
    const all = Array.from({ length: uploadsMax }, () => new UploadRequest(server))
    for (const [i, request] of all.entries()) await request.write(line(i))
    for (const request of all) await isDurable(request, 1)
    const further = new UploadRequest(server)
    await further.end(line(0)).catch(() => {})
    t.equal(further.response?.statusCode, 503)
    t.match(further.text, /"overloaded"/)
    for (const request of all) t.strictSame((await request.end()).at(-1), oneDone)
    t.strictSame((await upload(server, line(0))).at(-1), oneDone, 'another upload is accepted afterwards')
  })

  await t.test('a client that sends everything before it reads gets the complete response', async (t) => {
    const count = 60_000
    const text = Array.from({ length: count }, (_, i) => `{"op":"set","path":"nothing/${i}","value":1}\n`).join('')
    const answer = await upload({ ...server, showsProgress: true }, text)
    const { refused, unlisted = 0 } = answer.at(-1) ?? {}
    t.equal(refused, count)
    const listed = answer.filter(({ code }) => code === 'no_such_topic').length
    t.equal(listed + unlisted, count, `${listed} listed`)
  })

  await t.test('an upload whose client disconnects at any time leaves nothing behind', async (t) => {
    for (let i = 0; i < 60; i++) {
      const request = new UploadRequest({ ...server, showsProgress: i % 2 === 0 }, i % 3 === 0 ? 1_000_000 : undefined)
      if (i % 5 > 0) await request.write(line(i).repeat(i % 5 === 1 ? 1 : 5000))
      if (i % 5 > 2) await sleep(i)
      request.close()
    }
    await until('all uploads have ended', async () => {
      const metrics = await scrape(server.adminUrl)
      return metrics.value('topicd_uploads') + metrics.value('topicd_requests_waiting') === 0 || undefined
    })
    t.strictSame((await upload(server, line(0))).at(-1), oneDone)
  })

  await t.test('millions of empty lines do not delay other clients', async (t) => {
    const request = new UploadRequest({ ...server, showsProgress: false })
    const done = request.end('\n'.repeat(4 * 1024 * 1024) + line(1))
    let answered = 0
    for (; !request.isComplete; answered++) await server.post('fetch', { path: 'n/1' })
    t.strictSame((await done).at(-1), oneDone)
    t.ok(answered > 10, `${answered} other requests were answered in the meantime`)
  })

  await t.test('an upload gets its response even if more bytes follow its end', async (t) => {
    const connection = await server.raw()
    const writer = server.writerPid() ?? NaN
    process.kill(writer, 'SIGSTOP')
    await connection.write(uploadText(server, lines(0, 1500)))
    // By the end of these requests, which need no writer, the only worker has taken the body.
    for (let i = 0; i < 20; i++) await server.post('fetch', { path: 'n/1' })
    await connection.write('more bytes of the body ')
    // On a slow machine the silent writer has been replaced, and the next one executes the writes that were sent to it.
    if (server.writerPid() === writer) process.kill(writer, 'SIGCONT')
    t.match(await connection.answer(), { status: 200, body: /"durable":1500/ })
  })

  await t.test('a client that keeps sending lines gets the response if its upload is rejected', async (t) => {
    const request = new UploadRequest({ ...server, token: 'unknown' })
    for (let i = 0; request.response === undefined && request.error === undefined; i++) {
      await request.write(line(i))
      await sleep(10)
    }
    t.equal(request.response?.statusCode, 401)
    request.close()
  })

  await t.test('an upload that starts while the worker drains is rejected', async (t) => {
    const connection = await server.raw()
    await connection.write(uploadText(server, line(1)))
    t.match(await connection.answer(), { status: 200 })
    await beginDrain(server)
    await connection.write(uploadText(server, line(2)))
    t.match((await connection.answers(2))[1], { status: 503, body: /"draining"/ })
  })
})
