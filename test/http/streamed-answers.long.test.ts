/**
 * The framing of responses without a known length, byte by byte: whole chunks, one last chunk, and nothing after it. The
 * request's framing, the side that ends the response, and a late reader make no difference.
 */
import { strict as assert } from 'node:assert'
import t from 'tap'
import type { Outlet, Route } from '../../dist/http/answer.js'
import { beginDrain } from '../support/service/drain.js'
import type { RawConnection } from '../support/service/raw.js'
import { serveRoutes } from '../support/service/served.js'
import { type Server, startServer, until } from '../support/service/server.js'
import { turns } from '../support/turns.js'

interface Streamed {
  readonly head: string
  readonly body: string
  /** Lines between the last chunk and the empty line. */
  readonly trailers: readonly string[]
  /** The bytes after the end. */
  readonly rest: string
}

/** Parses a chunked response strictly as RFC 9112, 7.1 specifies. */
function readStreamed(received: string): Streamed {
  const headEnd = received.indexOf('\r\n\r\n')
  const head = received.slice(0, headEnd)
  assert.match(head, /^HTTP\/1\.1 200 /)
  assert.match(head, /\r\ntransfer-encoding: chunked/i)
  let body = ''
  for (let at = headEnd + 4; ; ) {
    const [line, digits = ''] = /^([0-9a-f]+)\r\n/i.exec(received.slice(at, at + 20)) ?? []
    assert(line !== undefined, `no chunk starts at ${JSON.stringify(received.slice(at - 20, at + 20))}`)
    at += line.length
    const bytes = Number.parseInt(digits, 16)
    if (bytes === 0) return { head, body, ...readTrailers(received.slice(at)) }
    body += received.slice(at, at + bytes)
    at += bytes
    assert.equal(received.slice(at, at + 2), '\r\n', 'a chunk has its announced length')
    at += 2
  }
}

function readTrailers(text: string): Pick<Streamed, 'trailers' | 'rest'> {
  const end = text.startsWith('\r\n') ? 0 : text.indexOf('\r\n\r\n') + 2
  assert(end !== 1, `nothing ends ${JSON.stringify(text)}`)
  const trailers = text.slice(0, end).split('\r\n').slice(0, -1)
  for (const trailer of trailers) assert.match(trailer, /^[\w-]+: ?[\x20-\x7e]*$/)
  return { trailers, rest: text.slice(end + 2) }
}

/** A request with its body in one chunk, or with its length. */
function request(token: string, route: string, headers: readonly string[], body: string, isChunked: boolean): string {
  const framing = isChunked ? 'transfer-encoding: chunked' : `content-length: ${body.length}`
  const head = [`POST /topics/${route} HTTP/1.1`, 'host: topicd', `authorization: Apikey ${token}`]
  const lines = [...head, ...headers, framing]
  return `${lines.join('\r\n')}\r\n\r\n${isChunked ? `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body}`
}

const asksForStream = ['content-type: application/json', 'accept: text/event-stream']
const hasLines = ['content-type: application/x-ndjson', 'accept: application/x-ndjson']
const followAll = '{"selector":"*.*"}'

async function openStream(server: Server, headers: readonly string[], isChunked: boolean): Promise<RawConnection> {
  const connection = await server.raw()
  await connection.write(request(server.token, 'changes', [...asksForStream, ...headers], followAll, isChunked))
  await until('the state has been sent', async () => connection.received.includes('"has_more":false') || undefined)
  return connection
}

const framings = [
  ['with a length', false],
  ['chunked', true],
] as const

t.test('streamed responses end with complete framing', async (t) => {
  const server = await startServer(t, { workers: 1 })

  for (const [how, isChunked] of framings) {
    await t.test(`an upload ${how} gets its complete response`, async (t) => {
      // With less data, the response to an upload with a length would be sent at its end.
      const [line, count] = [`{"op":"addAndSet","path":"a","value":"${'x'.repeat(300)}"}\n`, 15_000]
      for (const headers of [[], ['connection: close']]) {
        const connection = await server.raw()
        const text = request(server.token, 'batch', [...hasLines, ...headers], line.repeat(count), isChunked)
        for (let at = 0; at < text.length; at += 100_000) await connection.write(text.slice(at, at + 100_000))
        await until('the upload is answered', async () => connection.received.includes('"done":true') || undefined)
        const isKept = !isChunked && headers.length === 0
        if (isKept) {
          await connection.write('GET /healthz HTTP/1.1\r\nhost: topicd\r\n\r\n')
          await until('a page arrives', async () => connection.received.includes('{"status":"serving"}') || undefined)
          connection.close()
        } else await connection.closed
        const { body, rest } = readStreamed(connection.received)
        t.strictSame(JSON.parse(body.trim().split('\n').at(-1) ?? ''), { done: true, durable: count, refused: 0 })
        t.match(rest, isKept ? /^HTTP\/1\.1 200 OK\r\n/ : /^$/, 'the bytes after the response')
      }
    })
  }

  await t.test('a drain ends each stream of changes with an end event', async (t) => {
    const connections: RawConnection[] = []
    for (const [, isChunked] of framings)
      for (const headers of [[], ['connection: close']]) connections.push(await openStream(server, headers, isChunked))
    await beginDrain(server)
    for (const connection of connections) {
      await connection.closed
      const { body, rest } = readStreamed(connection.received)
      t.match(body, /event: end\ndata: \{"code":"draining".*\}\n\n/)
      t.equal(rest, '', 'nothing follows')
    }
  })
})

/** The end of a connection with a stream. */
const endOfStream = '\r\n3\r\nend\r\n0\r\nconnection-state: closed\r\n\r\n'

/** Numbers of large and of small pieces of a stream, and the size of the small ones; null means as many as are accepted. */
type Pieces = readonly [large: number | null, small: number | null, smallBytes: number]

const largePiece = Buffer.alloc(10_000, 'x')

/** A route that streams the requested pieces and then the end. It reports the numbers of pieces to `ended`. */
function piecesRoute(ended: (large: number, small: number) => void): Route<object> {
  const send = (outlet: Outlet, piece: Uint8Array, count: number | null): number => {
    for (let sent = 0; ; sent++) if (sent === count || !outlet.send(piece)) return sent
  }
  return {
    path: '/topics/pieces',
    isRead: true,
    handle(body) {
      const [large, small, smallBytes] = JSON.parse(body.toString()) as Pieces
      const begin = (outlet: Outlet): void => {
        const largeSent = send(outlet, largePiece, large)
        const smallSent = send(outlet, Buffer.alloc(smallBytes, 'y'), small)
        outlet.end(Buffer.from('end'))
        ended(largeSent, smallSent)
      }
      return { status: 200, body: '', stream: { filler: Buffer.from('.'), begin, onWritable() {}, onGone() {} } }
    },
  }
}

t.test('a client that reads late gets the complete end of a stream', async (t) => {
  let ended: (large: number, small: number) => void = () => {}
  const { connect } = await serveRoutes(t, [piecesRoute((large, small) => ended(large, small))])
  /** Has a stream end before its client reads. */
  const stream = async (isChunked: boolean, ...pieces: Pieces) => {
    const connection = await connect()
    connection.pause()
    const counts = new Promise<readonly [large: number, small: number]>((resolve) => {
      ended = (...counts) => resolve(counts)
    })
    const headers = ['content-type: application/json', 'connection: close']
    await connection.write(request('key', 'pieces', headers, JSON.stringify(pieces), isChunked))
    const [large, small] = await counts
    // The service runs in this process: in these turns, a faulty one would close the connection too early.
    await turns(20)
    connection.resume()
    await until(
      'the stream has ended',
      async () => connection.isClosed || connection.received.endsWith('\r\n\r\n') || undefined,
    )
    connection.close()
    return { large, small, isWhole: connection.received.endsWith(endOfStream) }
  }
  const cut: string[] = []
  for (let smallBytes = 60; smallBytes < 200; smallBytes += 8) {
    for (const isChunked of [false, true]) {
      // Leave some room for small pieces, the last of which fill the buffers.
      const large = (await stream(isChunked, null, 0, smallBytes)).large - 5
      const { small } = await stream(isChunked, large, null, smallBytes)
      for (const missing of [2, 1, 0]) {
        const { isWhole } = await stream(isChunked, large, small - missing, smallBytes)
        if (!isWhole) cut.push(`${isChunked ? 'chunked' : 'with a length'}, ${missing} pieces of ${smallBytes} less`)
      }
    }
  }
  t.strictSame(cut, [])
})
