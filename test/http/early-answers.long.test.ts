/**
 * Answers that are given while the body still comes, to clients that send everything before they read: a socket that is
 * closed over unread bytes is reset, and such a client would lose its answer. What comes is dropped, for a bounded time.
 */

import t from 'tap'
import { refuses } from '../support/claims.js'
import { beginDrain } from '../support/drain.js'
import { at } from '../support/only.js'
import { requestText } from '../support/raw.js'
import { overWorkers, type Server, startServer } from '../support/server.js'

t.setTimeout(180_000)

const bodyBytesMax = 4096

/** What such a client sends before it reads. */
const sentBytes = 2 * 1024 * 1024

/** How long a connection stays after its answer, as src/limits.ts has it. */
const silenceMs = 1000
const lingerMs = 10_000

const chunked = 'transfer-encoding: chunked'

/** A length beyond which the service does not wait for the end of a body. */
const endless = `content-length: ${bodyBytesMax + 32 * 1024 * 1024 + 1}`

interface Case {
  readonly headers?: readonly string[]
  readonly token?: string
  readonly type?: string
  readonly target?: string
  readonly answer: readonly [status: number, code: string]
}

const sized = `content-length: ${sentBytes}`

const cases: Readonly<Record<string, Case>> = {
  'an unknown key': { headers: [sized], token: 'unknown', answer: [401, 'unauthorized'] },
  'another content type': { headers: [sized], type: 'text/plain', answer: [415, 'unsupported_media_type'] },
  'an encoding': { headers: [sized, 'content-encoding: gzip'], answer: [415, 'unsupported_encoding'] },
  'too large a body': { headers: [sized], answer: [413, 'body_too_large'] },
  'a body that is as good as endless': { headers: [endless], answer: [413, 'body_too_large'] },
  'an unknown expectation': { headers: [sized, 'expect: the best'], answer: [417, 'expectation_failed'] },
  'an unknown expectation, with chunks': {
    headers: [chunked, 'expect: the best'],
    answer: [417, 'expectation_failed'],
  },
  'an unknown expectation, to no route': {
    headers: [sized, 'expect: the best'],
    target: 'POST /none',
    answer: [404, 'unknown_route'],
  },
  'two lengths that agree': { headers: [sized, sized], answer: [400, 'invalid_framing'] },
  'two lengths that agree, with another method': {
    headers: [sized, sized],
    target: 'PUT /topics/add',
    answer: [400, 'invalid_framing'],
  },
  'an encoding before chunks': { headers: ['transfer-encoding: gzip, chunked'], answer: [400, 'invalid_framing'] },
  'no route': { headers: [sized], target: 'POST /none', answer: [404, 'unknown_route'] },
  'another method': { headers: [sized], target: 'PUT /topics/add', answer: [405, 'method_not_allowed'] },
}

function head(
  server: Server,
  { headers = [], token = server.token, type = 'application/json', target = 'POST /topics/add' }: Case,
): string {
  return [
    `${target} HTTP/1.1`,
    'host: x',
    `authorization: Apikey ${token}`,
    `content-type: ${type}`,
    ...headers,
    '',
    '',
  ].join('\r\n')
}

/** What comes of a body, in pieces: all of it, in one chunk and the last where it is chunked. */
function bodyOf({ headers = [] }: Case, bytes = sentBytes): Buffer[] {
  const pieces = Array.from({ length: bytes / 65_536 }, () => Buffer.alloc(65_536, 'x'))
  if (!headers.some((header) => header.includes('chunked'))) return pieces
  return [Buffer.from(`${bytes.toString(16)}\r\n`), ...pieces, Buffer.from('\r\n0\r\n\r\n')]
}

await overWorkers(
  t,
  async (t, server) => {
    /** Resolves once every worker has met what was written before, and given the answers that it gives at once. */
    const barrier = () =>
      Promise.all(Array.from({ length: server.client.connections }, () => server.post('fetch', { path: 'none' })))

    for (const [claim, which] of Object.entries(cases)) {
      const [status, code] = which.answer
      await t.test(`${claim}: a client that sends everything before it reads has its whole ${status}`, async (t) => {
        const connection = await server.raw()
        connection.pause()
        await connection.write(head(server, which))
        await barrier()
        for (const piece of bodyOf(which)) await connection.write(piece)
        connection.resume()
        const answer = await connection.answer()
        t.equal(answer?.status, status, 'it is there')
        t.equal((JSON.parse(answer?.body ?? '{}') as { code?: string }).code, code, 'and whole')
        connection.close()
      })
    }

    await t.test('chunks without end: their 413 is whole for a client that sends on before it reads', async (t) => {
      const which = { headers: [chunked], answer: [413, 'body_too_large'] } as const
      const connection = await server.raw()
      connection.pause()
      await connection.write(head(server, which))
      for (const piece of bodyOf(which, 40 * 1024 * 1024)) await connection.write(piece)
      connection.resume()
      t.match(await connection.answer(), { status: 413, body: /body_too_large/ })
      await connection.closed
    })

    const body = '{"path":"dropped"}'
    const awaiting = (headers: readonly string[]) =>
      head(server, { headers: [...headers, 'expect: x'], answer: [417, 'expectation_failed'] })
    const hidden = requestText('/topics/add', server.token, '{"path":"hidden"}')

    await t.test('the body that still comes is dropped, and nothing behind it is carried out', async (t) => {
      for (const [claim, headers, pieces] of [
        ['a body', [`content-length: ${body.length}`], [body]],
        ['a body and a request at once', [`content-length: ${body.length}`], [body + hidden]],
        ['a body and a request', [`content-length: ${body.length}`], [body, hidden]],
        [
          'a body in two pieces, and a request',
          [`content-length: ${body.length}`],
          [body.slice(0, 5), body.slice(5) + hidden],
        ],
        ['a body and what is no request', [`content-length: ${body.length}`], [`${body}\0\r\n\r\n\r\n`]],
        ['a body longer than it says', ['content-length: 5'], [body + hidden]],
        ['two lengths, and a request', ['content-length: 5', `content-length: ${body.length}`], [body + hidden]],
        ['chunks and a request at once', [chunked], [`12\r\n${body}\r\n0\r\n\r\n${hidden}`]],
        ['chunks and a request', [chunked], [`12\r\n${body}\r\n`, '0\r\n\r\n', hidden]],
        ['chunks, trailers and a request', [chunked], [`12\r\n${body}\r\n0\r\nx: y\r\n\r\n${hidden}`]],
      ] as const) {
        const connection = await server.raw()
        await connection.write(awaiting(headers))
        const first = await connection.answer()
        t.equal(first?.status, headers.length === 1 ? 417 : 400, `${claim}: answered before it comes`)
        t.match(first?.head, /\r\nconnection: close/, `${claim}: it says that it closes`)
        const { received } = connection
        for (const piece of pieces) {
          await connection.write(piece)
          await barrier()
        }
        await connection.closed
        t.equal(connection.received, received, `${claim}: not a byte more is answered`)
        for (const path of ['dropped', 'hidden']) {
          refuses(t, await server.post('fetch', { path }), 400, 'no_such_topic', `${claim}: "${path}" is not made`)
        }
      }
    })

    await t.test('the connection is closed when the body has ended', async (t) => {
      const closing = async (): Promise<number> => {
        const connection = await server.raw()
        await connection.write(awaiting([`content-length: ${body.length}`]))
        await connection.answer()
        await connection.write(body)
        const sentMs = performance.now()
        await connection.closed
        return performance.now() - sentMs
      }
      // The best of some, as the machine may be busy.
      const tookMs = Math.min(...(await Promise.all(Array.from({ length: 5 }, closing))))
      t.ok(tookMs < silenceMs, `after ${tookMs} ms`)
    })

    await t.test('or after a second without a piece of it', async (t) => {
      const connection = await server.raw()
      await connection.write(awaiting(['content-length: 1000000']))
      await connection.answer()
      for (let piece = 0; piece < 4; piece++) {
        await new Promise((resolve) => setTimeout(resolve, silenceMs / 2))
        t.notOk(connection.isClosed, 'while it comes, it is waited for')
        await connection.write('x')
      }
      const sentMs = performance.now()
      await connection.closed
      const tookMs = performance.now() - sentMs
      t.ok(tookMs > 0.9 * silenceMs && tookMs < lingerMs, `after ${tookMs} ms`)
    })

    await t.test('or after ten, however much of it comes', async (t) => {
      const connection = await server.raw()
      await connection.write(awaiting(['content-length: 100000000']))
      await connection.answer()
      const answeredMs = performance.now()
      const sending = setInterval(() => void connection.write('x'.repeat(10_000)), silenceMs / 10)
      await connection.closed
      clearInterval(sending)
      const tookMs = performance.now() - answeredMs
      t.ok(tookMs > 0.9 * lingerMs && tookMs < 3 * lingerMs, `after ${tookMs} ms`)
    })
  },
  { store: 'lmdb', flags: ['--body-bytes-max', String(bodyBytesMax)] },
)

t.test('a worker that drains gives whole answers too, though each ends its connection', async (t) => {
  const server = await startServer(t, { flags: ['--body-bytes-max', String(bodyBytesMax), '--drain-ms', '60000'] })
  const refused = Object.entries(cases)
  // Their headers come during the drain, all but an end that was not there yet.
  const connections = await Promise.all(refused.map(() => server.raw()))
  await Promise.all(connections.map((connection, i) => connection.write(head(server, at(refused, i)[1]).slice(0, -1))))
  await server.post('fetch', { path: 'none' })
  await beginDrain(server)
  await Promise.all(
    refused.map(async ([claim, which], i) => {
      const connection = at(connections, i)
      connection.pause()
      await connection.write('\n')
      for (const piece of bodyOf(which)) await connection.write(piece)
      connection.resume()
      const answer = await connection.answer()
      t.match(answer, { status: which.answer[0], head: /\r\nconnection: close/, body: RegExp(which.answer[1]) }, claim)
    }),
  )
  t.strictSame(await server.exited, { code: 0, signal: null }, 'the drain ended well')
})
