/**
 * Pages compressed for clients that accept gzip (`--gzip`): which responses are compressed, that each unpacks to the plain
 * response, and that connections stay intact while their pages are compressed.
 */
import { randomBytes } from 'node:crypto'
import { Agent } from 'node:http'
import { connect } from 'node:net'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { compressingRoutes } from '../../dist/api/gzip.js'
import type { Answer, Ongoing, Route } from '../../dist/http/answer.js'
import { ChangesStream } from '../support/service/changes.js'
import { RawConnection, requestText } from '../support/service/raw.js'
import { headersOf, type Received, sendPieces } from '../support/service/sender.js'
import { type Server, startServer, until } from '../support/service/server.js'

const kibibyte = 1024

/** The largest bodies that are sent plain, and that are compressed synchronously. */
const plainBytes = 4 * kibibyte
const atOnceBytes = 16 * kibibyte

interface Reply extends Received {
  /** The body, unpacked if it is compressed. */
  readonly text: string
}

/** Sends one request; an undefined `acceptEncoding` leaves the header out. */
async function send(
  { url, token }: Pick<Server, 'url' | 'token'>,
  route: string,
  body: object,
  acceptEncoding: string | string[] | undefined,
  agent?: Agent,
): Promise<Reply> {
  const bytes = Buffer.from(JSON.stringify(body))
  const headers = headersOf(token, bytes.length)
  if (acceptEncoding !== undefined) headers['accept-encoding'] = acceptEncoding
  const sent = { headers, pieces: [bytes], ...(agent === undefined ? {} : { agent }) }
  const reply = await sendPieces(`${url}/topics/${route}`, sent)
  const isGzipped = reply.headers['content-encoding'] === 'gzip'
  return { ...reply, text: (isGzipped ? gunzipSync(reply.bytes) : reply.bytes).toString() }
}

/** Adds many small topics in one request. */
async function addMany({ post }: Server, parent: string, count: number, value: (i: number) => unknown): Promise<void> {
  const operations = Array.from({ length: count }, (_, i) => ({
    op: 'addAndSet',
    path: `${parent}/${i}`,
    value: value(i),
  }))
  await post('batch', { operations })
}

/** Adds a topic whose response has exactly this many bytes. */
async function addOfBytes({ post }: Server, path: string, bytes: number): Promise<void> {
  const around = `{"path":"${path}","type":"json","value":""}`.length
  await post('addAndSet', { path, value: 'x'.repeat(bytes - around) })
}

t.test('a service with --gzip compresses its responses', async (t) => {
  const server = await startServer(t, { flags: ['--gzip', '--cors-origins', 'https://app.example'] })
  await addMany(server, 'page', 300, (i) => ({ of: i, more: 'é'.repeat(40) }))
  const page = { selector: '*page//', size: 300 }

  await t.test('responses of more than 4 KiB are compressed', async (t) => {
    for (const [bytes, isGzipped] of [
      [plainBytes, false],
      [plainBytes + 1, true],
      [atOnceBytes, true],
      [atOnceBytes + 1, true],
    ] as const) {
      await addOfBytes(server, 'sized', bytes)
      const plain = await send(server, 'fetch', { path: 'sized' }, undefined)
      const reply = await send(server, 'fetch', { path: 'sized' }, 'gzip')
      t.equal(plain.bytes.length, bytes)
      t.equal(plain.headers['content-encoding'], undefined)
      t.equal(reply.headers['content-encoding'], isGzipped ? 'gzip' : undefined, `${bytes} bytes`)
      t.equal(reply.text, plain.text)
      t.equal(Number(reply.headers['content-length']), reply.bytes.length)
      t.equal(reply.headers['content-type'], 'application/json')
      const vary = isGzipped ? 'origin, accept-encoding' : 'origin'
      t.match([plain.headers.vary, reply.headers.vary], [vary, vary], 'vary names the headers that matter')
      if (isGzipped) t.ok(reply.bytes.length < 500, `${reply.bytes.length} bytes`)
    }
  })

  await t.test('pages fetched by selector or by paths, and pages of changes, are compressed', async (t) => {
    const paths = { paths: Array.from({ length: 300 }, (_, i) => `page/${i}`) }
    for (const [route, body] of [
      ['fetch', page],
      ['fetch', paths],
      ['fetch', { selector: '*.*/1.*', size: 300 }],
      ['changes', page],
      ['changes', { ...page, wait: 1 }],
    ] as const) {
      const plain = await send(server, route, body, undefined)
      const reply = await send(server, route, body, 'gzip, deflate, br')
      t.equal(plain.status, 200, plain.text.slice(0, 200))
      t.equal(reply.headers['content-encoding'], 'gzip')
      // The token differs each time.
      const withoutToken = ({ text }: Reply): string => text.replace(/,"next":"[^"]*"/, '')
      t.equal(withoutToken(reply), withoutToken(plain))
      t.ok(reply.bytes.length < plain.bytes.length / 3, `${plain.bytes.length} to ${reply.bytes.length} bytes`)
    }
  })

  await t.test('only clients that accept gzip get compressed responses', async (t) => {
    const encodingFor = async (header: string | string[] | undefined) =>
      (await send(server, 'fetch', page, header)).headers['content-encoding']
    for (const taking of ['gzip', 'GZIP', '*', 'br, gzip;q=0.5', 'gzip ; q=0.001', 'gzip,deflate', ['br', 'gzip']])
      t.equal(await encodingFor(taking), 'gzip', String(taking))
    for (const refusing of [undefined, '', 'identity', 'br', 'x-gzip', 'gzip;q=0', '*;q=0', ['gzip;q=0', '*']])
      t.equal(await encodingFor(refusing), undefined, String(refusing))
  })

  await t.test('errors, streams of events, and responses to writes are not compressed', async (t) => {
    const refused = await send(server, 'fetch', { path: 'x'.repeat(1900) }, 'gzip')
    t.match(refused, { status: 400, headers: { 'content-encoding': undefined } })
    const operations = Array.from({ length: 300 }, (_, i) => ({ op: 'set', path: `page/${i}`, value: i }))
    const written = await send(server, 'batch', { operations }, 'gzip')
    t.match(written, { status: 200, headers: { 'content-encoding': undefined } })
    t.ok(written.bytes.length > plainBytes)
    const stream = await ChangesStream.open(server, { selector: '*page//' })
    t.equal(stream.response.headers['content-encoding'], undefined)
    await stream.complete('the state')
    stream.close()
  })
})

t.test('a service without --gzip compresses nothing', async (t) => {
  const server = await startServer(t)
  await addOfBytes(server, 'sized', 50_000)
  const reply = await send(server, 'fetch', { path: 'sized' }, 'gzip')
  t.match(reply.headers, { 'content-encoding': undefined, vary: undefined, 'content-length': '50000' })
})

t.test('responses on a connection stay in order while pages are compressed', { timeout: 600_000 }, async (t) => {
  const server = await startServer(t, { flags: ['--gzip', '--page-bytes-max', String(9 * 1024 * kibibyte)] })
  // Base64 of random bytes shrinks by only a quarter, so that much data is left to send.
  for (let i = 0; i < 16; i++)
    await server.post('addAndSet', { path: `large/${i}`, value: randomBytes(380_000).toString('base64') })
  await addMany(server, 'small', 1000, (i) => ({ of: i, unit: 'metre' }))
  const large = { selector: '*large//', size: 16 }
  const plain = await send(server, 'fetch', large, undefined)

  await t.test('a compressed page of 8 MB arrives complete', async (t) => {
    t.ok(plain.bytes.length > 8_000_000, `${plain.bytes.length} bytes`)
    const reply = await send(server, 'fetch', large, 'gzip')
    t.equal(reply.headers['content-encoding'], 'gzip')
    t.ok(reply.text === plain.text, 'the page is the same')
  })

  const asking = (...headers: readonly string[]): string =>
    requestText('/topics/fetch', server.token, JSON.stringify(large), ['accept-encoding: gzip', ...headers])
  const { hostname, port } = new URL(server.url)
  const open = () => RawConnection.open(hostname, Number(port))

  await t.test('clients that disconnect free the part of the compression limit that they used', async (t) => {
    for (let i = 0; i < 20; i++) {
      const connection = await open()
      await connection.write(asking())
      if (i % 2 === 0) await server.post('fetch', { path: 'small/1' })
      connection.abort()
      await connection.closed
    }
    t.ok((await send(server, 'fetch', large, 'gzip')).text === plain.text, 'other clients get their pages')
    await until('none of their pages is compressed any more', async () => {
      const { headers } = await send(server, 'fetch', large, 'gzip')
      return headers['content-encoding'] === 'gzip' ? true : undefined
    })
  })

  await t.test('a client that starts to read late gets its complete page', async (t) => {
    const socket = connect({ host: hostname, port: Number(port) })
    t.teardown(() => socket.destroy())
    socket.pause()
    socket.write(asking('connection: close'))
    for (let i = 0; i < 20; i++) await send(server, 'fetch', { selector: '*small//', size: 1000 }, 'gzip')
    const pieces: Buffer[] = []
    for await (const piece of socket) pieces.push(piece as Buffer)
    const received = Buffer.concat(pieces)
    const bodyAt = received.indexOf('\r\n\r\n') + 4
    t.match(received.subarray(0, bodyAt).toString().toLowerCase(), 'content-encoding: gzip\r\n')
    t.ok(gunzipSync(received.subarray(bodyAt)).toString() === plain.text, 'the client gets the whole page')
  })

  await t.test('kept-alive connections get the correct page for each request', async (t) => {
    const body = { selector: '*small//', size: 1000 }
    const right = (await send(server, 'fetch', body, undefined)).text
    const encodings = new Set<string | undefined>()
    let wrong = 0
    const clients = Array.from({ length: 32 }, async (_, client) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      for (let i = 0; i < 10; i++) {
        const size = (client + i) % 2 === 0 ? 1000 : 200
        const reply = await send(server, 'fetch', { ...body, size }, 'gzip', agent)
        encodings.add(reply.headers['content-encoding'])
        const { results } = JSON.parse(reply.text) as { results: unknown[] }
        if (results.length !== size || (size === 1000 && reply.text !== right)) wrong++
      }
      agent.destroy()
    })
    await Promise.all(clients)
    t.equal(wrong, 0)
    t.ok(encodings.has('gzip'))
  })
})

t.test('the amount of compression in progress stays within its limit', async (t) => {
  const body = Buffer.alloc(1024 * kibibyte, 'text')
  const plainRoute: Route<object> = { path: '/x', isRead: true, handle: () => ({ status: 200, body }) }
  const route = compressingRoutes<object>()(plainRoute)
  const ongoing = { aborted: false, onAborted: undefined, headers: { acceptEncoding: 'gzip' } } as Ongoing
  const answer = (): Answer | Promise<Answer> => route.handle(Buffer.alloc(0), {}, ongoing)
  const isGzipped = ({ headers = [] }: Answer): boolean => headers.some(([, value]) => value === 'gzip')
  const round = async (): Promise<boolean[]> => (await Promise.all(Array.from({ length: 30 }, answer))).map(isGzipped)
  const first = await round()
  const bound = first.indexOf(false)
  t.ok(bound >= 12 && bound <= 16, `${bound} MiB plus zlib's own memory`)
  t.notOk(first.slice(bound).includes(true), 'the others are sent plain')
  t.strictSame(await round(), first, 'all memory for compression is free again')
  body.fill('other')
  const later = answer()
  body.fill(0)
  t.ok(gunzipSync((await later).body).equals(Buffer.alloc(body.length, 'other')), 'the bytes as of the response')
})
