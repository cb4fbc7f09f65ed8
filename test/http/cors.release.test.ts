/**
 * The headers that allow web pages to read responses, byte by byte: on responses and preflights for an allowed origin, for any
 * other origin, for none, and without the setting. http/browser uses a real page.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { pathOf } from '../../dist/api/routes/route.js'
import { apiRoutes } from '../../dist/api/routes/routes.js'
import { originsMax } from '../../dist/settings/limits.js'
import { present } from '../support/elements.js'
import { type RawAnswer, requestText } from '../support/service/raw.js'
import { runCommand, type Server, startServer } from '../support/service/server.js'

const origin = 'https://app.example'

/** The setting, with another notation of that origin and a second origin. */
const listed = 'HTTPS://App.Example:443, http://localhost:3000'

const bodyBytesMax = 2048

const dirFor = (name: string): string => join(t.testdirName, name)

const smallBodies = ['--body-bytes-max', String(bodyBytesMax)]

const server = await startServer(t, { flags: ['--cors-origins', listed, ...smallBodies] })
const serverForAll = await startServer(t, { flags: ['--cors-origins', '*', ...smallBodies], dataDir: dirFor('all') })
const settings = dirFor('topicd.env')
writeFileSync(settings, '')
const serverWithout = await startServer(t, { flags: ['--settings', settings, ...smallBodies], dataDir: dirFor('none') })

/** A request, with a body that is sent with its length. */
interface Request {
  readonly method?: string
  readonly path?: string
  /** Undefined to send no authorization header. */
  readonly token?: string | undefined
  readonly type?: string
  readonly lines?: readonly string[]
  /** Undefined to send no content-length either. */
  readonly body?: string | undefined
  /** Whether the body is sent in chunks. */
  readonly isChunked?: boolean
}

/** Sends one request on its own connection; resolves with its only response. */
async function send(server: Server, request: Request, ...lines: readonly string[]): Promise<RawAnswer> {
  const { method = 'POST', path = '/topics/fetch', type = 'application/json', body, isChunked = false } = request
  const token = 'token' in request ? request.token : server.token
  const head = [
    `${method} ${path} HTTP/1.1`,
    'host: topicd',
    `content-type: ${type}`,
    ...(token === undefined ? [] : [`authorization: Apikey ${token}`]),
    ...(body === undefined ? [] : [isChunked ? 'transfer-encoding: chunked' : `content-length: ${body.length}`]),
    ...(request.lines ?? []),
    ...lines,
  ]
  const connection = await server.raw()
  await connection.write([...head, '', body ?? ''].join('\r\n'))
  const answer = present(await connection.answer())
  connection.close()
  return answer
}

/** The values of a header, in the order of the response. */
function valuesOf({ head }: RawAnswer, name: string): string[] {
  return [...head.matchAll(new RegExp(`\r\n${name}: ([^\r]*)`, 'g'))].map(([, value = '']) => value)
}

/** Every header that informs a browser or a cache about origins. */
function corsLines({ head }: RawAnswer): string[] {
  return head.split('\r\n').filter((line) => /^(access-control-|vary:)/.test(line))
}

const allowedLines = [
  `access-control-allow-origin: ${origin}`,
  'access-control-expose-headers: retry-after',
  'vary: origin',
]

const linesForAll = ['access-control-allow-origin: *', 'access-control-expose-headers: retry-after']

/** Requests for every kind of response, with its status. */
const requests: Readonly<Record<string, readonly [status: number, request: Request]>> = {
  'a write': [200, { path: '/topics/addAndSet', body: '{"path":"a","value":1}' }],
  'a fetch': [200, { body: '{"path":"a"}' }],
  'a page': [200, { body: '{"selector":"*big//","size":10}' }],
  'a chunked body': [200, { isChunked: true, body: 'c\r\n{"path":"a"}\r\n0\r\n\r\n' }],
  'a body that is not JSON': [400, { body: '{' }],
  'a topic that does not exist': [400, { body: '{"path":"none"}' }],
  'two lengths': [400, { body: '{}', lines: ['content-length: 2'] }],
  'no key': [401, { body: '{"path":"a"}', token: undefined }],
  'no such route': [404, { path: '/topics/none', body: '{}' }],
  'another method': [405, { method: 'PUT', body: '{}' }],
  'OPTIONS without a preflight': [405, { method: 'OPTIONS' }],
  'no length': [411, {}],
  'a body that is too large': [413, { body: 'x'.repeat(bodyBytesMax + 1) }],
  'another content type': [415, { body: '{}', type: 'text/plain' }],
  'a content-encoding': [415, { body: '{}', lines: ['content-encoding: gzip'] }],
  'an unknown expectation': [417, { body: '{}', lines: ['expect: cake'] }],
  'the page healthz': [200, { method: 'GET', path: '/healthz', token: undefined }],
}

async function store(server: Server): Promise<void> {
  await server.post('addAndSet', { path: 'a', value: 1 })
  for (const i of [1, 2, 3]) await server.post('addAndSet', { path: `big/${i}`, value: 'x'.repeat(1900) })
}

for (const [title, to, origins, expected] of [
  ['every response to an allowed origin names it', server, [origin], allowedLines],
  [
    'a request from another origin or none is served, with only vary',
    server,
    ['https://other.example', undefined],
    ['vary: origin'],
  ],
  ['every response allows every page if the setting is *', serverForAll, ['null', undefined], linesForAll],
] as const) {
  await t.test(title, async (t) => {
    await store(to)
    for (const [expectation, [status, request]] of Object.entries(requests)) {
      for (const from of origins) {
        const answer = await send(to, request, ...(from === undefined ? [] : [`origin: ${from}`]))
        t.equal(answer.status, status, expectation)
        t.strictSame(corsLines(answer), expected, `${status}, ${expectation}, from ${from}`)
      }
    }
  })
}

await t.test('an origin is compared in full, in the form that browsers send', async (t) => {
  for (const other of [
    'https://app.example:443',
    'https://app.example/',
    'http://app.example',
    'https://app.example.evil.example',
    'null',
    `${origin}${'x'.repeat(3000)}`,
  ]) {
    const answer = await send(server, { body: '{"path":"a"}' }, `origin: ${other}`)
    t.equal(answer.status, 200)
    t.strictSame(corsLines(answer), ['vary: origin'], other.slice(0, 60))
  }
  const answer = await send(server, { body: '{"path":"a"}' }, 'origin: http://localhost:3000')
  t.strictSame(valuesOf(answer, 'access-control-allow-origin'), ['http://localhost:3000'], 'the second origin')
})

/** The header lines of a preflight. */
const asks = (from: string): readonly string[] => [
  `origin: ${from}`,
  'access-control-request-method: POST',
  'access-control-request-headers: authorization,content-type',
]

const routes = apiRoutes.map(pathOf)

const pages = ['/healthz', '/openapi.json']

/** An OPTIONS as browsers send it, without a key. */
const options = (path: string): Request => ({ method: 'OPTIONS', path, token: undefined })

await t.test('a preflight returns 204 without a key', async (t) => {
  for (const path of [...routes, ...pages]) {
    for (const [to, from, lines] of [
      [server, origin, allowedLines],
      [serverForAll, 'null', linesForAll],
    ] as const) {
      const { head, body } = await send(to, options(path), ...asks(from))
      const [status, ...headers] = head.split('\r\n').filter((line) => !/^(date|uwebsockets):/.test(line))
      t.equal(status, 'http/1.1 204 no content', path)
      t.equal(body, '')
      t.strictSame(
        headers,
        [
          ...lines,
          `access-control-allow-methods: ${routes.includes(path) ? 'post' : 'get, head'}`,
          'access-control-allow-headers: authorization, content-type, last-event-id',
          'access-control-max-age: 600',
          'connection: close',
        ],
        `${path} for ${from}`,
      )
    }
  }
})

await t.test('a preflight is rejected like any other OPTIONS request unless its origin is allowed', async (t) => {
  for (const [expectation, request, status, lines, expected] of [
    ['another origin', options('/topics/set'), 405, asks('https://other.example'), ['vary: origin']],
    ['no origin', options('/topics/set'), 405, asks('').slice(1), ['vary: origin']],
    ['no method', options('/topics/set'), 405, asks(origin).slice(0, 1), allowedLines],
    ['no such route', options('/topics/none'), 404, asks(origin), allowedLines],
  ] as const) {
    const answer = await send(server, request, ...lines)
    t.equal(answer.status, status, expectation)
    t.strictSame(corsLines(answer), expected, expectation)
  }
})

await t.test('an allowed page on the internet may call a service in a private network', async (t) => {
  const privately = 'access-control-request-private-network: true'
  const granted = 'access-control-allow-private-network'
  const asked = (to: Server, from: string, line: string) => send(to, options('/topics/set'), ...asks(from), line)
  t.strictSame(valuesOf(await asked(server, origin, privately), granted), ['true'])
  t.strictSame(valuesOf(await asked(serverForAll, 'https://other.example', privately), granted), ['true'], 'with *')
  t.strictSame(valuesOf(await asked(server, origin, 'x: y'), granted), [], 'only on request')
  t.strictSame(valuesOf(await asked(server, origin, privately.replace('true', 'false')), granted), [])
  t.strictSame(corsLines(await asked(server, 'https://other.example', privately)), ['vary: origin'], 'another origin')
})

await t.test('responses to HEAD requests and responses after a 100 have the CORS headers', async (t) => {
  const connection = await server.raw()
  await connection.write(`HEAD /healthz HTTP/1.1\r\nhost: topicd\r\norigin: ${origin}\r\n\r\n`)
  await connection.closed
  t.strictSame(corsLines({ status: 0, head: connection.received.trim().toLowerCase(), body: '' }), allowedLines)
  const expecting = await server.raw()
  await expecting.write(
    requestText('/topics/fetch', server.token, '{"path":"a"}', [`origin: ${origin}`, 'expect: 100-Continue']),
  )
  const [interim, final] = await expecting.answers(2)
  expecting.close()
  t.equal(interim?.status, 100)
  t.strictSame(corsLines(present(final)), allowedLines)
})

await t.test('without the setting, responses do not depend on the origin', async (t) => {
  await store(serverWithout)
  const withoutDate = ({ head, body }: RawAnswer) => `${head.replace(/\r\ndate: [^\r]+/, '')}\n${body}`
  const all = {
    ...requests,
    'a preflight': [405, options('/topics/set')],
    'of a page': [405, options('/healthz')],
  } as const
  for (const [expectation, [status, request]] of Object.entries(all)) {
    const plain = await send(serverWithout, request)
    t.equal(plain.status, status, expectation)
    t.strictSame(corsLines(plain), [], expectation)
    const asked = await send(serverWithout, request, ...asks(origin))
    t.equal(withoutDate(asked), withoutDate(plain), expectation)
  }
  const { head } = await send(serverWithout, { body: '{"path":"a"}' }, `origin: ${origin}`)
  const lines = 'content-type: application/json\r\ndate: .+\r\nuwebsockets: 20\r\ncontent-length: 36'
  t.match(head, new RegExp(`^http/1\\.1 200 ok\r\n${lines}$`))
})

await t.test('the admin listener allows no cross-origin requests', async (t) => {
  for (const method of ['GET', 'OPTIONS']) {
    const headers = { origin, 'access-control-request-method': 'GET' }
    const answer = await fetch(`${serverForAll.adminUrl}/healthz`, { method, headers })
    t.equal(answer.status, method === 'GET' ? 200 : 405)
    t.equal(answer.headers.get('access-control-allow-origin'), null, method)
  }
})

await t.test('a reload changes the allowed origins', async (t) => {
  /** The allowed origin of a response, and the status of a preflight, after a reload with this setting. */
  async function after(text: string): Promise<readonly (string | number | undefined)[]> {
    writeFileSync(settings, `TOPICD_CORS_ORIGINS=${text}\n`)
    const { code, stderr } = await serverWithout.command('reload')
    t.equal(code, 0, stderr)
    const answer = await send(serverWithout, { body: '{}' }, `origin: ${origin}`)
    const preflight = await send(serverWithout, options('/topics/set'), ...asks(origin))
    return [valuesOf(answer, 'access-control-allow-origin')[0], preflight.status]
  }
  t.strictSame(await after(origin), [origin, 204])
  t.strictSame(await after('*'), ['*', 204])
  t.strictSame(await after('https://other.example'), [undefined, 405])
  writeFileSync(settings, `TOPICD_CORS_ORIGINS=${origin}/\n`)
  t.match(await serverWithout.command('reload'), { code: 1, stderr: /line 1: TOPICD_CORS_ORIGINS is .+without a path/ })
})

/** Checks the result of `topicd settings` for a value. */
const check = async (t: Test, text: string, expected: { readonly code: number; readonly stderr?: RegExp }) =>
  t.match(await runCommand(['settings', '--cors-origins', text]), expected, text.slice(0, 60))

const origins = (count: number) => Array.from({ length: count }, (_, i) => `https://app-${i}.example`).join(',')

await t.test('an invalid list of origins is rejected, and the error gives the reason', async (t) => {
  const many = origins(originsMax)
  for (const text of ['', '*', listed, 'http://[::1]:3000', 'https://bücher.example', `${origin},${origin}`, many]) {
    await check(t, text, { code: 0 })
  }
  for (const [text, problem] of [
    [origins(originsMax + 1), /must list at most 64 origins/],
    ['null', /must not list null, an origin that any page can obtain/],
    [`${origin},*`, /must be either \* alone or a list without \*/],
    [`${origin},`, /must have an origin on both sides of each comma/],
    [`${origin}/`, /without a path, a trailing "\/" or a wildcard, unlike "https:\/\/app\.example\/" /],
    ['https://*.app.example', /a wildcard, unlike "https:\/\/\*\.app\.example"/],
    ['app.example', /must be/],
    // A password typed in the wrong place is not shown.
    ['https://user:secret@app.example', /^(?!.*secret).*must be/s],
    ['file:///tmp', /must be/],
  ] as const) {
    await check(t, text, { code: 2, stderr: problem })
  }
})
