/**
 * The pages of the routes' port that need no key: whether the worker serves, and the API description with the URL under
 * which it is served.
 */
import t from 'tap'
import { Client } from '../support/service/client.js'
import { beginDrain } from '../support/service/drain.js'
import { overStores } from '../support/service/over-stores.js'
import { runCommand, type Server, startServer } from '../support/service/server.js'

interface Description {
  readonly servers: readonly { readonly url: string }[]
}

/** Sends a GET without a key over a bare connection. */
async function get(server: Server, path: string, ...headers: readonly string[]) {
  const connection = await server.raw()
  await connection.write(
    [`GET ${path} HTTP/1.1`, ...(headers.length > 0 ? headers : ['host: topicd']), '', ''].join('\r\n'),
  )
  const answer = await connection.answer()
  connection.close()
  return answer ?? { status: 0, head: '', body: '' }
}

await overStores(
  t,
  async (t, server) => {
    await t.test('healthz answers 200 while the worker serves, without a key', async (t) => {
      const answer = await get(server, '/healthz')
      t.match(answer, { status: 200, body: '{"status":"serving"}' })
      t.match(answer.head, /\r\ncontent-type: application\/json\r\ncache-control: no-store/)
      const head = await server.client.send('/healthz', '', { method: 'HEAD', token: null })
      t.match(head, { status: 200, text: '' }, 'HEAD')
    })

    await t.test('a page of the console and all of its files come over one connection', async (t) => {
      const connection = await server.raw()
      let count = 0
      const load = async (path: string) => {
        await connection.write(`GET ${path} HTTP/1.1\r\nhost: topicd\r\n\r\n`)
        return (await connection.answers(++count))[count - 1]
      }
      const document = (await load('/console'))?.body ?? ''
      const files = [...document.matchAll(/(?:href|src)="(console\/[^"]+)"/g)].map(([, path = '']) => path)
      t.ok(files.length > 4, `${files.length} files`)
      for (const path of files) t.equal((await load(`/${path}`))?.status, 200, path)
      t.equal((await load('/none'))?.status, 404, 'a refusal ends it')
      await connection.closed
    })

    await t.test('the HTTP library finds nothing to warn of', async (t) => {
      for (const path of ['/healthz', '/openapi.json', '/none']) {
        await get(server, path)
        await server.client.send(path, '', { method: 'HEAD', token: null })
      }
      t.notMatch(server.output, /warning/i)
    })

    await t.test('HEAD is answered like GET, with the length of the body but without the body', async (t) => {
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
        const lines = (text: string) =>
          text
            .split('\r\n')
            // The library adds its name where it sends the body; one without a body ends the connection.
            .filter((line) => !/^(date|uwebsockets|connection): /.test(line))
            .sort()
        t.strictSame(lines(head), lines(got.head), `${path}: the same headers, except the date`)
        const dateIn = (text: string) => Date.parse(/^date: (.+)$/m.exec(text)?.[1] ?? '')
        t.ok(Math.abs(dateIn(head) - dateIn(got.head)) <= 5000, `${path}: the date of the answer`)
      }
    })

    await t.test('openapi.json is the API description, with the URL under which it was requested', async (t) => {
      const described = JSON.parse((await runCommand(['openapi'])).stdout) as Description
      const answer = await get(server, '/openapi.json', 'host: topics.example.com:8080')
      t.equal(answer.status, 200)
      const document = JSON.parse(answer.body) as Description
      t.strictSame(document.servers, [{ url: 'http://topics.example.com:8080' }])
      t.strictSame({ ...document, servers: [] }, { ...described, servers: [] }, 'the rest is what the command prints')
      const behind = await get(server, '/openapi.json', 'host: [::1]', 'x-forwarded-proto: https')
      t.strictSame(
        (JSON.parse(behind.body) as Description).servers,
        [{ url: 'https://[::1]' }],
        'behind a proxy that terminates TLS',
      )
      for (const host of ['', '"', 'a b', 'a/../b', 'x"},{"url":"http://y', '<script>', 'é', 'a:b', 'x'.repeat(300)]) {
        const { body } = await get(server, '/openapi.json', `host: ${host}`, 'x-forwarded-proto: gopher')
        t.strictSame(
          (JSON.parse(body) as Description).servers,
          [{ url: `http://127.0.0.1:${server.port}` }],
          `the host ${host}`,
        )
      }
    })

    await t.test('other methods are refused, and the allowed ones named', async (t) => {
      for (const path of ['/healthz', '/openapi.json']) {
        for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
          const answer = await server.client.send(path, '', { method })
          t.match(
            answer,
            { status: 405, code: 'method_not_allowed', headers: { allow: 'GET, HEAD' } },
            `${method} ${path}`,
          )
          t.match(answer.message, 'This route accepts only GET and HEAD.')
        }
      }
    })
  },
  { store: 'lmdb' },
)

t.test('both pages are below the base path, and only there', async (t) => {
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

t.test('healthz answers 503 while the worker drains, and what is in flight is answered', async (t) => {
  const server = await startServer(t, { flags: ['--drain-ms', '60000'] })
  // A request whose body has not arrived keeps the drain waiting.
  const body = '{"path":"late"}'
  const late = await server.raw()
  const text = `POST /topics/add HTTP/1.1\r\nhost: x\r\nauthorization: Apikey ${server.token}\r\ncontent-type: application/json\r\n`
  await late.write(`${text}content-length: ${body.length}\r\n\r\n{`)
  const answer = await beginDrain(server)
  t.match(answer, { status: 503, body: /"code":"draining"/ })
  t.match(answer?.head, /\r\nretry-after: 1/)
  await late.write(body.slice(1))
  t.equal((await late.answer())?.status, 200, 'what is in flight is answered')
  t.strictSame(await server.exited, { code: 0, signal: null })
})
