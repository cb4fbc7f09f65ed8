/**
 * HTTP byte by byte, over bare sockets: requests in pieces, framing used for request smuggling, and clients that disconnect.
 * A request hidden in another is never executed, and the workers continue to serve.
 */
import t, { type Test } from 'tap'
import { gives, refuses } from '../support/expected-answers.js'
import { scrape } from '../support/service/metrics.js'
import { overStores } from '../support/service/over-stores.js'
import { barrier, chunkedHead, requestText } from '../support/service/raw.js'
import type { Server } from '../support/service/server.js'

const lastChunk = '0\r\n\r\n'

await overStores(
  t,
  async (t, server) => {
    await t.test('a request may arrive in any two pieces', (t) => inTwoPieces(t, server))
    await t.test('a request may arrive one byte at a time', (t) => byteByByte(t, server))
    await t.test('a request hidden in another request is not executed', (t) => hiddenRequests(t, server))
    await t.test('a request hidden in a rejected request is not executed', (t) => refusedRequests(t, server))
    await t.test('requests on one connection are answered in order', (t) => oneAfterAnother(t, server))
    await t.test('a write is not applied if other bytes follow it in the same piece', (t) => behind(t, server))
    await t.test('the error for an incorrect length mentions that it may count characters', (t) =>
      countedInCharacters(t, server),
    )
    await t.test('an empty line after a request causes the next request to be lost', (t) => emptyLine(t, server))
    await t.test('a connection is closed if the bytes received are not HTTP/1.1', (t) => notHttp(t, server))
    await t.test('clients that disconnect at any point do not disturb the workers', (t) => disconnections(t, server))
    await t.test('every worker still serves after these requests', async (t) => {
      await barrier(server)
      t.equal(server.timesLogged('worker died'), 0, 'no worker died')
      t.equal(server.workerPids().length, server.workers, 'all workers are alive')
    })
  },
  { store: 'lmdb' },
)

/** Asserts that a request to add this topic was not executed. */
async function hasNot(t: Test, { post }: Server, path: string, expectation: string): Promise<void> {
  refuses(t, await post('fetch', { path }), 400, 'no_such_topic', `${expectation}: not executed`)
}

/** Asserts that the connection gets at most an error before it closes. */
async function getsNoAnswer(t: Test, server: Server, text: string, expectation: string): Promise<void> {
  const connection = await server.raw()
  await connection.write(text)
  await barrier(server)
  // Ends the wait of a parser that needs more bytes.
  connection.end()
  await connection.closed
  const answers = await connection.answers(2)
  const isRefused = answers.length <= 1 && answers.every(({ status }) => status >= 400)
  t.ok(isRefused, `${expectation}: ${connection.received.slice(0, 80)}`)
}

async function inTwoPieces(t: Test, server: Server): Promise<void> {
  const text = (at: number) =>
    requestText('/topics/addAndSet', server.token, `{"path":"split/${at}","value":"é ${at}"}`)
  const lengths = Array.from({ length: Buffer.byteLength(text(100)) - 1 }, (_, i) => i + 1)
  const pieces = await Promise.all(
    lengths.map(async (at) => {
      const bytes = Buffer.from(text(at))
      const connection = await server.raw()
      await connection.write(bytes.subarray(0, at))
      return { at, connection, rest: bytes.subarray(at) }
    }),
  )
  await barrier(server)
  await Promise.all(pieces.map(({ connection, rest }) => connection.write(rest)))
  for (const { at, connection } of pieces) {
    const body = (await connection.answer())?.body
    if (body !== `{"path":"split/${at}","created":true}`) t.fail(`split after ${at} bytes: ${body}`)
    connection.close()
  }
  const pages = await server.client.walk('?split/', { size: 1000 })
  const values = pages.flatMap(({ results }) => results.map(({ path, value }) => `${path} ${String(value)}`))
  t.strictSame(new Set(values), new Set(lengths.map((at) => `split/${at} é ${at}`)), 'each is executed once and whole')
}

async function byteByByte(t: Test, server: Server): Promise<void> {
  const connection = await server.raw()
  for (const byte of Buffer.from(requestText('/topics/add', server.token, '{"path":"slow"}'))) {
    await connection.write(Buffer.of(byte))
    await server.post('fetch', { selector: 'none' })
  }
  t.equal((await connection.answer())?.body, '{"path":"slow","created":true}')
  connection.close()
}

async function hiddenRequests(t: Test, server: Server): Promise<void> {
  const head = (route = '/topics/fetch') =>
    `POST ${route} HTTP/1.1\r\nhost: x\r\nauthorization: Apikey ${server.token}\r\ncontent-type: application/json\r\n`
  const get = (route: string) => head(route).replace('POST', 'GET')
  const length = (value: number | string) => `content-length: ${value}\r\n`
  const chunked = 'transfer-encoding: chunked\r\n'
  const noName = ': x\r\n'
  /** Headers, given the length of the hidden request, and the bytes before the hidden request. */
  const attempts: readonly (readonly [what: string, headers: (hidden: number) => string, before?: string])[] = [
    ['two lengths, the first short', (hidden) => head() + length(0) + length(hidden)],
    ['an empty length', () => head() + length('')],
    ['a negative length', () => head() + length('-1')],
    ['a hexadecimal length', () => head() + length('0x0')],
    ['a length with a decimal point', () => head() + length('0.0')],
    ['a length beyond 2^64', () => head() + length('18446744073709551616')],
    ['a length beyond 2^32', () => head() + length('4294967296')],
    ['a blank before the colon of the length', () => `${head()}content-length : 0\r\n`],
    ['a length on a folded line', (hidden) => `${head()}x: y\r\n ${length(hidden)}`],
    ['chunks and a length', (hidden) => head() + chunked + length(hidden + 5), lastChunk],
    ['two encodings', () => `${head()}transfer-encoding: identity\r\n${chunked}`, lastChunk],
    ['an empty encoding', () => `${head()}transfer-encoding:\r\n${length(0)}`],
    ['a blank before the colon of the encoding', () => `${head() + length(0)}transfer-encoding : chunked\r\n`],
    ['a length after a header without a name', (hidden) => head() + noName + length(hidden)],
    ['an encoding after a header without a name', () => head() + noName + chunked, lastChunk],
    ['a second length after a header without a name', (hidden) => head() + length(0) + noName + length(hidden)],
    ['an encoding and a length around a header without a name', () => head() + length(0) + noName + chunked],
    ['a bare line feed before the length', (hidden) => `${head()}x: y\n${length(hidden)}`],
    ['bare line feeds at the end of the headers', (hidden) => `${head()}content-length: ${hidden}\n\n`],
    ['a bare carriage return', (hidden) => `${head()}x: y\r${length(hidden)}`],
    ['a NUL in a header', (hidden) => `${head()}x: \0\r\n${length(`\0${hidden}`)}`],
    ['a body with another method', () => get('/topics/fetch')],
    ['chunks with another method', () => get('/topics/fetch') + chunked, lastChunk],
    ['two lengths to no route', (hidden) => head('/none') + length(0) + length(hidden)],
    ['no length to no route', () => head('/none')],
    ['a body of a page', () => get('/healthz')],
    ['a length of a page after a header without a name', (hidden) => get('/healthz') + noName + length(hidden)],
  ]
  for (const [i, [expectation, headers, before = '']] of attempts.entries()) {
    const hidden = requestText('/topics/add', server.token, `{"path":"hidden/${i}"}`)
    await getsNoAnswer(t, server, `${headers(hidden.length)}\r\n${before}${hidden}`, expectation)
    await hasNot(t, server, `hidden/${i}`, expectation)
  }
}

async function refusedRequests(t: Test, server: Server): Promise<void> {
  const hidden = requestText('/topics/add', server.token, '{"path":"hidden/behind"}')
  const fetch = requestText('/topics/fetch', server.token, hidden)
  for (const [expectation, text, status] of [
    ['without a key', requestText('/topics/fetch', 'unknown', hidden), 401],
    ['with another content type', fetch.replace('application/json', 'text/plain'), 415],
    ['to no route', requestText('/none', server.token, hidden), 404],
    ['with another method', fetch.replace('POST', 'PUT'), 405],
    ['with a body that is not JSON', fetch, 400],
  ] as const) {
    const connection = await server.raw()
    await connection.write(text)
    t.equal((await connection.answer())?.status, status, `${expectation}: rejected`)
    await barrier(server)
    connection.end()
    await connection.closed
    t.equal((await connection.answers(2)).length, 1, `${expectation}: one response`)
  }
  await hasNot(t, server, 'hidden/behind', 'the body of a rejected request')
}

async function oneAfterAnother(t: Test, server: Server): Promise<void> {
  const connection = await server.raw()
  for (let i = 0; i < 10; i++) {
    await connection.write(requestText('/topics/addAndSet', server.token, `{"path":"series","value":${i}}`))
    t.equal((await connection.answers(i + 1)).at(-1)?.body, `{"path":"series","created":${i === 0}}`, `response ${i}`)
  }
  connection.close()

  const fetches = await server.raw()
  await fetches.write(requestText('/topics/fetch', server.token, '{"path":"series"}').repeat(3))
  const item = '{"path":"series","type":"json","value":9}'
  t.strictSame(
    (await fetches.answers(3)).map(({ body }) => body),
    [item, item, item],
    'fetches in one write are answered in order',
  )
  fetches.close()
}

async function behind(t: Test, server: Server): Promise<void> {
  const closed = async () => (await scrape(server.adminUrl)).value('topicd_rejected_total', { cause: 'bytes_behind' })
  const texts = {
    'no request': 'what is this',
    'white space that the length does not count': ' \n \n \n',
    'a request for a proxy': 'GET http://topicd/healthz HTTP/1.1\r\nhost: topicd\r\n\r\n',
    'another write': requestText('/topics/add', server.token, '{"path":"behind/second"}'),
  }
  const before = await closed()
  for (const [i, [expectation, text]] of Object.entries(texts).entries()) {
    const connection = await server.raw()
    await connection.write(requestText('/topics/add', server.token, `{"path":"behind/${i}"}`) + text)
    await connection.closed
    t.notMatch(connection.received, /^HTTP\/1\.1 200/, expectation)
    // A worker applies its writes in order.
    const last = () => server.post('addAndSet', { path: 'last', value: 0 })
    await Promise.all(Array.from({ length: server.client.connections }, last))
    await hasNot(t, server, `behind/${i}`, expectation)
  }
  await hasNot(t, server, 'behind/second', 'the second write')
  t.equal((await closed()) - before, Object.keys(texts).length, 'the closed connections are counted')
}

async function countedInCharacters(t: Test, server: Server): Promise<void> {
  const connection = await server.raw()
  const body = '{"path":"counted","value":"é"}'
  const text = requestText('/topics/addAndSet', server.token, body)
  await connection.write(text.replace(/content-length: \d+/, `content-length: ${body.length}`))
  t.match(await connection.answer(), { status: 400, body: /invalid_json/ }, 'the body ends too early')
  await connection.write(requestText('/topics/fetch', server.token, '{"path":"none"}'))
  t.match((await connection.answers(2)).at(1), { status: 400, body: /"invalid_framing".* in bytes, / }, 'next request')
  await connection.closed
}

/** A caveat of the library, which waits for the rest of a line that never arrives. */
async function emptyLine(t: Test, server: Server): Promise<void> {
  const connection = await server.raw()
  await connection.write(`${requestText('/topics/add', server.token, '{"path":"empty/line"}')}\r\n`)
  t.equal((await connection.answer())?.body, '{"path":"empty/line","created":true}', 'the first request is answered')
  await connection.write(requestText('/topics/add', server.token, '{"path":"empty/next"}'))
  await barrier(server)
  connection.close()
  await hasNot(t, server, 'empty/next', 'the next request')
}

async function notHttp(t: Test, server: Server): Promise<void> {
  const fetch = requestText('/topics/fetch', server.token, '{"path":"none"}')
  for (const [expectation, text] of [
    ['nothing but line ends', '\r\n\r\n\r\n\r\n'],
    ['random bytes', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'],
    ['another version', fetch.replace('HTTP/1.1', 'HTTP/9.9')],
    ['no version', fetch.replace(' HTTP/1.1', '')],
    ['a header without a colon', fetch.replace('host: topicd', 'host topicd')],
    [
      'more headers than there is room for',
      fetch.replace('host: topicd', `host: topicd\r\n${'x: y\r\n'.repeat(500)}x: y`),
    ],
    ['a route longer than any limit', fetch.replace('/topics/fetch', `/${'x'.repeat(100_000)}`)],
  ] as const) {
    await getsNoAnswer(t, server, text, expectation)
  }
}

async function disconnections(t: Test, server: Server): Promise<void> {
  const { token, post } = server
  await post('addAndSet', { path: 'left', value: 0 })
  const set = requestText('/topics/set', token, `{"path":"left","value":"${'x'.repeat(5000)}"}`)

  const chunked = chunkedHead('/topics/set', token)
  const pieces = Array.from({ length: 10 }, (_, i) => set.slice(0, set.length - 1 - i * 500))
  for (const text of [...pieces, `${chunked}5\r\n`, `${chunked}19\r\n{"path":"left","value":1}\r\n`]) {
    const connection = await server.raw()
    await connection.write(text)
    connection.abort()
  }
  await barrier(server)
  const left = '{"path":"left","type":"json","value":0}'
  gives(t, await post('fetch', { path: 'left' }), left, 'an incomplete body changed nothing')

  for (let i = 0; i < 20; i++) {
    const connection = await server.raw()
    await connection.write(set)
    if (i % 2 === 0) connection.abort()
    else connection.end()
  }
  await barrier(server)
  t.equal(server.timesLogged('worker died'), 0, 'writes of disconnected clients crashed no worker')

  await Promise.all(
    Array.from({ length: 20 }, (_, i) => post('addAndSet', { path: `wide/${i}`, value: 'x'.repeat(400_000) })),
  )
  for (let i = 0; i < 4; i++) {
    const connection = await server.raw()
    await connection.write(requestText('/topics/fetch', token, '{"selector":"*wide//","size":20}'))
    if (i % 2 === 0) await barrier(server)
    connection.abort()
  }
  const page = await post('fetch', { selector: '*wide//', size: 20 })
  t.equal(page.text.length > 7_900_000, true, 'a client that stays gets the whole large page')
}
