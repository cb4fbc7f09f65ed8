/**
 * The pages of the routes' port that need no key: the state of the worker, and the API description with the URL at which it
 * is served.
 */
import t from 'tap'
import { refuses } from '../support/expected-answers.js'
import { Client } from '../support/service/client.js'
import { beginDrain } from '../support/service/drain.js'
import { overStores } from '../support/service/over-stores.js'
import { requestText } from '../support/service/raw.js'
import { runCommand, type Server, startServer } from '../support/service/server.js'

interface Description {
  readonly servers: readonly { readonly url: string }[]
}

/** Sends a GET without a key over a bare connection. */
async function get(server: Server, path: string, ...headers: readonly string[]) {
  const lines = headers.length > 0 ? headers : ['host: topicd']
  const connection = await server.raw()
  await connection.write([`GET ${path} HTTP/1.1`, ...lines, '', ''].join('\r\n'))
  const answer = await connection.answer()
  connection.close()
  return answer ?? { status: 0, head: '', body: '' }
}

await overStores(
  t,
  async (t, server) => {
    await t.test('healthz returns 200 without a key while the worker serves', async (t) => {
      const answer = await get(server, '/healthz')
      t.match(answer, { status: 200, body: '{"status":"serving"}' })
      t.match(answer.head, /\r\ncontent-type: application\/json\r\ncache-control: no-store/)
    })

    await t.test('a console page and its files are served over one connection', async (t) => {
      const connection = await server.raw()
      let count = 0
      const load = async (path: string) => {
        await connection.write(`GET ${path} HTTP/1.1\r\nhost: topicd\r\n\r\n`)
        return (await connection.answers(++count))[count - 1]
      }
      const document = (await load('/console'))?.body ?? ''
      const files = [...document.matchAll(/(?:href|src)="(console\/[^"]+)"/g)].map(([, path = '']) => path)
      t.equal(files.length, 3)
      for (const path of files) t.equal((await load(`/${path}`))?.status, 200, path)
      t.equal((await load('/none'))?.status, 404, 'an error closes the connection')
      await connection.closed
    })

    await t.test('the HTTP library prints no warnings', async (t) => {
      for (const path of ['/healthz', '/openapi.json', '/none']) {
        await get(server, path)
        await server.client.send(path, '', { method: 'HEAD', token: null })
      }
      t.notMatch(server.output, /warning/i)
    })

    await t.test('HEAD returns the headers of a GET without the body', async (t) => {
      for (const [path, status] of [
        ['/healthz', 200],
        ['/openapi.json', 200],
        ['/none', 404],
        ['/topics/fetch', 405],
      ] as const) {
        const got = await get(server, path)
        const connection = await server.raw()
        await connection.write(`HEAD ${path} HTTP/1.1\r\nhost: topicd\r\n\r\n`)
        await connection.closed
        const [head = '', rest] = connection.received.toLowerCase().split('\r\n\r\n')
        t.equal(rest, '', `${path}: no body`)
        t.equal(Number(head.slice(9, 12)), status, path)
        // The library adds its name when it sends a body; a response without a body ends the connection.
        const differs = /^(date|uwebsockets|connection): /
        const lines = (text: string) =>
          text
            .split('\r\n')
            .filter((line) => !differs.test(line))
            .sort()
        t.strictSame(lines(head), lines(got.head), `${path}: the same headers, except the date`)
        const dateIn = (text: string) => Date.parse(/^date: (.+)$/m.exec(text)?.[1] ?? '')
        t.ok(Math.abs(dateIn(head) - dateIn(got.head)) <= 5000, `${path}: the date of the response`)
      }
    })

    await t.test('openapi.json is the API description and names the URL at which it was requested', async (t) => {
      const described = JSON.parse((await runCommand(['openapi'])).stdout) as Description
      const describedFor = async (...headers: readonly string[]) =>
        JSON.parse((await get(server, '/openapi.json', ...headers)).body) as Description
      const document = await describedFor('host: topics.example.com:8080')
      t.strictSame(document, { ...described, servers: [{ url: 'http://topics.example.com:8080' }] })
      const behind = await describedFor('host: [::1]', 'x-forwarded-proto: https')
      t.strictSame(behind.servers, [{ url: 'https://[::1]' }], 'behind a proxy that terminates TLS')
      for (const host of ['', '"', 'a b', 'a/../b', 'x"},{"url":"http://y', 'é', 'a:b', 'x'.repeat(300)]) {
        const { servers } = await describedFor(`host: ${host}`, 'x-forwarded-proto: gopher')
        t.strictSame(servers, [{ url: `http://127.0.0.1:${server.port}` }], `the host ${host}`)
      }
    })

    await t.test('methods other than GET and HEAD are rejected, and the response lists the allowed ones', async (t) => {
      for (const path of ['/healthz', '/openapi.json']) {
        for (const method of ['POST', 'DELETE', 'OPTIONS']) {
          const answer = await server.client.send(path, '', { method })
          refuses(t, answer, 405, 'method_not_allowed', `${method} ${path}`, 'This route accepts only GET and HEAD.')
          t.equal(answer.headers.allow, 'GET, HEAD')
        }
      }
    })
  },
  { store: 'lmdb' },
)

t.test('healthz and openapi.json exist only below the base path', async (t) => {
  const server = await startServer(t, { flags: ['--base-path', '/diffusion/v1'] })
  t.equal((await get(server, '/diffusion/v1/healthz')).status, 200)
  const { body } = await get(server, '/diffusion/v1/openapi.json')
  t.strictSame((JSON.parse(body) as Description).servers, [{ url: 'http://topicd/diffusion/v1' }])
  const outside = new Client(new URL(server.url).origin, server.token, 1)
  t.teardown(() => outside.close())
  for (const path of ['/healthz', '/openapi.json']) {
    t.match(await outside.send(path, '', { method: 'GET' }), { status: 404, code: 'unknown_route' }, path)
  }
})

t.test('healthz returns 503 during a drain, and requests in flight are answered', async (t) => {
  const server = await startServer(t, { flags: ['--drain-ms', '60000'] })
  // A request whose body has not arrived keeps the drain waiting.
  const body = '{"path":"late"}'
  const late = await server.raw()
  const text = requestText('/topics/add', server.token, body)
  await late.write(text.slice(0, -1))
  const answer = await beginDrain(server)
  t.match(answer, { status: 503, body: /"code":"draining"/ })
  t.match(answer?.head, /\r\nretry-after: 1/)
  await late.write(text.slice(-1))
  t.equal((await late.answer())?.status, 200, 'the request in flight is answered')
  t.strictSame(await server.exited, { code: 0, signal: null })
})
