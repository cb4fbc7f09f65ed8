/** The headers of requests: their maximum size, and lists, which may span several lines. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { problemTable } from '../../dist/api/problems.js'
import { type Headed, writeHead } from '../../dist/http/head.js'
import { only } from '../support/elements.js'
import { requestText } from '../support/service/raw.js'
import { type Server, startServer } from '../support/service/server.js'

/** A request whose request line and headers have this many bytes. */
function withHead(server: Server, bytes: number): string {
  const text = (cookie: string) =>
    requestText('/topics/fetch', server.token, '{"selector":"none"}', [`cookie: ${cookie}`])
  return text('x'.repeat(bytes - text('').indexOf('\r\n\r\n') - 4))
}

/** A head of `bytes` is read, in one piece and in two, and one more byte returns 431. */
async function holdsFor(t: Test, server: Server, bytes: number): Promise<void> {
  for (const split of [0, 1000]) {
    for (const [more, status] of [
      [0, 200],
      [1, 431],
    ] as const) {
      const connection = await server.raw()
      const text = withHead(server, bytes + more)
      await connection.write(text.slice(0, split))
      await server.post('fetch', { path: 'none' })
      await connection.write(text.slice(split))
      await connection.answers(1)
      t.match(connection.received, new RegExp(`^HTTP/1.1 ${status} `), `${bytes} + ${more}, split at ${split}`)
      connection.close()
    }
  }
}

t.test('lists in headers and long request heads are read correctly', async (t) => {
  const file = join(t.testdir(), 'topicd.env')
  writeFileSync(file, '')
  const server = await startServer(t, { flags: ['--settings', file], dataDir: join(t.testdirName, 'db') })

  await t.test('a list of connection options may contain close, and the response contains close once', async (t) => {
    for (const [expectation, closes, ...headers] of [
      ['alone', true, 'connection: close'],
      ['in a list', true, 'connection: close, TE'],
      ['at the end of a list, in other case', true, 'connection: keep-alive,Close'],
      ['in another line', true, 'connection: TE', 'connection: close'],
      ['absent', false, 'connection: TE, closed'],
    ] as const) {
      for (const route of ['fetch', 'add', 'changes']) {
        const connection = await server.raw()
        await connection.write(requestText(`/topics/${route}`, server.token, '{"path":"closing"}', headers))
        const answer = only(await connection.answers(1))
        const says = answer.head.match(/\r\nconnection: close(?=\r\n|$)/g) ?? []
        t.equal(says.length, closes ? 1 : 0, `${expectation}: ${route}: ${answer.head}`)
        if (closes) await connection.closed
        else connection.close()
      }
    }
  })

  await t.test('every accept header of a request is taken into account', async (t) => {
    for (const [type, ...headers] of [
      ['text/event-stream', 'accept: text/event-stream', 'accept: application/json;q=0.5'],
      ['application/json', 'accept: text/event-stream;q=0', 'accept: */*'],
      ['application/json', 'accept: application/json', 'accept: text/event-stream;q=0.5'],
    ] as const) {
      const connection = await server.raw()
      await connection.write(requestText('/topics/changes', server.token, '{"path":"none"}', headers))
      t.match((await connection.answer())?.head, `content-type: ${type}`, headers.join(', '))
      connection.close()
    }
  })

  await t.test('the first of several proxies determines the scheme of the client', async (t) => {
    for (const [forwarded, scheme] of [
      ['https', 'https'],
      ['https, http', 'https'],
      ['http,https', 'http'],
      ['gopher', 'http'],
    ] as const) {
      const connection = await server.raw()
      await connection.write(`GET /openapi.json HTTP/1.1\r\nhost: a\r\nx-forwarded-proto: ${forwarded}\r\n\r\n`)
      t.match((await connection.answer())?.body, `"url":"${scheme}://a"`, forwarded)
      connection.close()
    }
  })

  await t.test('a request head may have 16 KiB, or as many bytes as a reloaded setting allows', async (t) => {
    await holdsFor(t, server, 16_384)
    writeFileSync(file, 'TOPICD_HEADER_BYTES_MAX=8000\n')
    t.match(await server.command('reload'), { code: 0 })
    await holdsFor(t, server, 8000)
  })
})

t.test('the status line of every error has a reason phrase', (t) => {
  for (const [code, [status]] of Object.entries(problemTable)) {
    let line = ''
    const res = { writeStatus: (text: string) => (line = text), writeHeader() {} }
    writeHead({ res, continued: false, originHeaders: undefined } as unknown as Headed, { status, body: '{}' })
    t.match(line, /^\d{3} [A-Z][a-zA-Z ]+$/, code)
  }
  t.end()
})
