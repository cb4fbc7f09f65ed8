/**
 * Responses that are sent while the body is still arriving, to clients that send everything before they read. Closing a socket
 * with unread bytes resets the connection, and such a client would lose its response. The rest of the body is therefore read
 * and dropped for a limited time.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { at } from '../support/elements.js'
import { refuses } from '../support/expected-answers.js'
import { beginDrain } from '../support/service/drain.js'
import { overStores } from '../support/service/over-stores.js'
import { barrier, requestText } from '../support/service/raw.js'
import { type Server, startServer, until } from '../support/service/server.js'

t.setTimeout(600_000)

const bodyBytesMax = 4096

/** Bytes that such a client sends before it reads. */
const sentBytes = 2 * 1024 * 1024

/** Time that a connection stays open after its response, as in src/settings/limits.ts. */
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
  'a body that counts as endless': { headers: [endless], answer: [413, 'body_too_large'] },
  'an unknown expectation': { headers: [sized, 'expect: the best'], answer: [417, 'expectation_failed'] },
  'an unknown expectation, with chunks': {
    headers: [chunked, 'expect: the best'],
    answer: [417, 'expectation_failed'],
  },
  'two lengths that agree': { headers: [sized, sized], answer: [400, 'invalid_framing'] },
  'an encoding before chunks': { headers: ['transfer-encoding: gzip, chunked'], answer: [400, 'invalid_framing'] },
  'no route': { headers: [sized], target: 'POST /none', answer: [404, 'unknown_route'] },
  'another method': { headers: [sized], target: 'PUT /topics/add', answer: [405, 'method_not_allowed'] },
}

function head(
  server: Server,
  { headers = [], token = server.token, type = 'application/json', target = 'POST /topics/add' }: Case,
): string {
  const lines = [`${target} HTTP/1.1`, 'host: x', `authorization: Apikey ${token}`, `content-type: ${type}`]
  return [...lines, ...headers, '', ''].join('\r\n')
}

/** A whole body, in pieces; a chunked body is one chunk and the last chunk. */
function bodyOf({ headers = [] }: Case, bytes = sentBytes): Buffer[] {
  const pieces = Array.from({ length: bytes / 65_536 }, () => Buffer.alloc(65_536, 'x'))
  if (!headers.some((header) => header.includes('chunked'))) return pieces
  return [Buffer.from(`${bytes.toString(16)}\r\n`), ...pieces, Buffer.from('\r\n0\r\n\r\n')]
}

await overStores(
  t,
  async (t, server) => {
    for (const [expectation, which] of Object.entries(cases)) {
      const [status, code] = which.answer
      await t.test(`${expectation}: a client that reads only after sending gets the complete ${status}`, async (t) => {
        const connection = await server.raw()
        connection.pause()
        await connection.write(head(server, which))
        await barrier(server)
        for (const piece of bodyOf(which)) await connection.write(piece)
        connection.resume()
        const answer = await connection.answer()
        t.equal(answer?.status, status, 'the response arrives')
        t.equal((JSON.parse(answer?.body ?? '{}') as { code?: string }).code, code, 'the response is complete')
        connection.close()
      })
    }

    await t.test('endless chunks: a client that reads only after sending gets the complete 413 response', async (t) => {
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
    const unmetExpectation = (headers: readonly string[]) =>
      head(server, { headers: [...headers, 'expect: x'], answer: [417, 'expectation_failed'] })
    const hidden = requestText('/topics/add', server.token, '{"path":"hidden"}')

    await t.test('the rest of the body is dropped, and bytes after it are never run as a request', async (t) => {
      const sized = `content-length: ${body.length}`
      for (const [expectation, headers, pieces] of [
        ['a body', [sized], [body]],
        ['a body and a request together', [sized], [body + hidden]],
        ['a body in two pieces, and a request', [sized], [body.slice(0, 5), body.slice(5) + hidden]],
        ['a body and bytes that are not a request', [sized], [`${body}\0\r\n\r\n\r\n`]],
        ['a body longer than its announced length', ['content-length: 5'], [body + hidden]],
        ['two lengths, and a request', ['content-length: 5', sized], [body + hidden]],
        ['chunks and a request', [chunked], [`12\r\n${body}\r\n`, '0\r\n\r\n', hidden]],
        ['chunks, trailers and a request', [chunked], [`12\r\n${body}\r\n0\r\nx: y\r\n\r\n${hidden}`]],
      ] as const) {
        const connection = await server.raw()
        await connection.write(unmetExpectation(headers))
        const first = await connection.answer()
        t.equal(first?.status, headers.length === 1 ? 417 : 400, `${expectation}: answered before the body arrives`)
        t.match(first?.head, /\r\nconnection: close/, `${expectation}: the response announces the close`)
        const { received } = connection
        for (const piece of pieces) {
          await connection.write(piece)
          await barrier(server)
        }
        await connection.closed
        t.equal(connection.received, received, `${expectation}: no further byte is answered`)
        for (const path of ['dropped', 'hidden'])
          refuses(t, await server.post('fetch', { path }), 400, 'no_such_topic', `${expectation}: no "${path}"`)
      }
    })

    /** Time that a connection stays open after its request is rejected, while `send` writes. */
    const staysOpenMs = async (bytes: number, send: (write: (data: string) => Promise<void>) => Promise<void>) => {
      const connection = await server.raw()
      await connection.write(unmetExpectation([`content-length: ${bytes}`]))
      await connection.answer()
      const answeredMs = performance.now()
      await Promise.race([send((data) => connection.write(data)), connection.closed])
      await connection.closed
      return performance.now() - answeredMs
    }

    await t.test('after an early response, the connection closes when the body ends', async (t) => {
      // The best of five, because the machine may be busy.
      const closing = () => staysOpenMs(body.length, (write) => write(body))
      const tookMs = Math.min(...(await Promise.all(Array.from({ length: 5 }, closing))))
      t.ok(tookMs < silenceMs, `after ${tookMs} ms`)
    })

    // This process may pause for a second, which closes such a connection, so each of these tests retries.
    await t.test('after an early response, the connection closes if no more body arrives for a second', async (t) => {
      const closedAfterMs = await until('the connection stays open while pieces arrive', async () => {
        let sentMs = 0
        await staysOpenMs(1_000_000, async (write) => {
          for (let piece = 0; piece < 15; piece++) {
            await sleep(silenceMs / 10)
            await write('x')
          }
          sentMs = performance.now()
        })
        return sentMs === 0 ? undefined : performance.now() - sentMs
      })
      t.ok(closedAfterMs > 0.9 * silenceMs && closedAfterMs < lingerMs / 2, `after ${closedAfterMs} ms`)
    })

    await t.test('after an early response, the connection closes within ten seconds, even while the body arrives', () =>
      until('the connection stays open for ten seconds, and no longer', async () => {
        let isClosed = false
        const tookMs = await staysOpenMs(100_000_000, async (write) => {
          while (!isClosed) {
            await sleep(silenceMs / 10)
            await write('x'.repeat(10_000))
          }
        }).finally(() => (isClosed = true))
        return tookMs > 0.9 * lingerMs || undefined
      }),
    )
  },
  { store: 'lmdb', flags: ['--body-bytes-max', String(bodyBytesMax)] },
)

t.test('a draining worker sends complete responses and then closes their connections', async (t) => {
  const server = await startServer(t, { flags: ['--body-bytes-max', String(bodyBytesMax), '--drain-ms', '60000'] })
  const refused = Object.entries(cases)
  // All but the last byte of their headers is sent before the drain.
  const connections = await Promise.all(refused.map(() => server.raw()))
  await Promise.all(connections.map((connection, i) => connection.write(head(server, at(refused, i)[1]).slice(0, -1))))
  await server.post('fetch', { path: 'none' })
  await beginDrain(server)
  await Promise.all(
    refused.map(async ([expectation, which], i) => {
      const connection = at(connections, i)
      connection.pause()
      await connection.write('\n')
      for (const piece of bodyOf(which)) await connection.write(piece)
      connection.resume()
      const answer = await connection.answer()
      t.match(
        answer,
        { status: which.answer[0], head: /\r\nconnection: close/, body: RegExp(which.answer[1]) },
        expectation,
      )
    }),
  )
  t.strictSame(await server.exited, { code: 0, signal: null }, 'the drain succeeded')
})
