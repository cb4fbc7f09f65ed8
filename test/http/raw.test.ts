/**
 * HTTP byte by byte, over bare sockets: requests in pieces, framing as request smuggling uses it, clients that
 * disconnect. No request that is hidden in another is ever executed, and the workers continue to serve.
 */
import t, { type Test } from 'tap'
import { gives, refuses } from '../support/expected-answers.js'
import { scrape } from '../support/service/metrics.js'
import { overStores } from '../support/service/over-stores.js'
import { requestText } from '../support/service/raw.js'
import type { Server } from '../support/service/server.js'

await overStores(
  t,
  async (t, server) => {
    await t.test('a request may arrive in any two pieces', (t) => inTwoPieces(t, server))
    await t.test('a request may arrive one byte at a time', (t) => byteByByte(t, server))
    await t.test('a request that is hidden in another is not executed', (t) => hiddenRequests(t, server))
    await t.test('a request that is hidden in a refused one is not executed', (t) => refusedRequests(t, server))
    await t.test('requests on one connection are answered in order', (t) => oneAfterAnother(t, server))
    await t.test('what follows a write in the same bytes ends it before it is carried out', (t) => behind(t, server))
    await t.test('a length that counts characters is named as a cause', (t) => countedInCharacters(t, server))
    await t.test('an empty line behind a request costs the next one, not itself', (t) => emptyLine(t, server))
    await t.test('bytes that are not HTTP/1.1 end their connection', (t) => notHttp(t, server))
    await t.test('clients may disconnect at any point', (t) => disconnections(t, server))
    await t.test('after all of this every worker serves as before', async (t) => {
      await barrier(server)
      t.equal(server.timesLogged('worker died'), 0, 'no worker died')
      t.equal(server.workerPids().length, server.workers, 'all are there')
    })
  },
  { store: 'lmdb' },
)

/**
 * Sends requests over connections to every worker. Once they are answered, each worker has completed a turn of its
 * event loop, and has read what was written to its other connections before.
 */
async function barrier({ client, post }: Server): Promise<void> {
  await Promise.all(Array.from({ length: client.connections }, () => post('fetch', { selector: 'none' })))
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
  t.strictSame(new Set(values), new Set(lengths.map((at) => `split/${at} é ${at}`)), 'each was executed once, whole')
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
  const attempts: Readonly<Record<string, (hidden: string) => string>> = {
    'two lengths, the first short': (hidden) =>
      `${head()}content-length: 0\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
    'two lengths, the second short': (hidden) =>
      `${head()}content-length: ${hidden.length}\r\ncontent-length: 0\r\n\r\n${hidden}`,
    'two lengths that agree': (hidden) => `${head()}content-length: 2\r\ncontent-length: 2\r\n\r\n{}${hidden}`,
    'a list of lengths': (hidden) => `${head()}content-length: 0, ${hidden.length}\r\n\r\n${hidden}`,
    'no length': (hidden) => `${head()}\r\n${hidden}`,
    'an empty length': (hidden) => `${head()}content-length:\r\n\r\n${hidden}`,
    'a length with a sign': (hidden) => `${head()}content-length: +0\r\n\r\n${hidden}`,
    'a negative length': (hidden) => `${head()}content-length: -1\r\n\r\n${hidden}`,
    'a hexadecimal length': (hidden) => `${head()}content-length: 0x0\r\n\r\n${hidden}`,
    'a length with a decimal point': (hidden) => `${head()}content-length: 0.0\r\n\r\n${hidden}`,
    'a length in words': (hidden) => `${head()}content-length: none\r\n\r\n${hidden}`,
    'a length beyond 2^64': (hidden) => `${head()}content-length: 18446744073709551616\r\n\r\n${hidden}`,
    'a length beyond 2^32': (hidden) => `${head()}content-length: 4294967296\r\n\r\n${hidden}`,
    'a blank before the colon of the length': (hidden) => `${head()}content-length : 0\r\n\r\n${hidden}`,
    'a length on a folded line': (hidden) => `${head()}x: y\r\n content-length: ${hidden.length}\r\n\r\n${hidden}`,
    'chunks that end at once': (hidden) => `${head()}transfer-encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
    'chunks and a length': (hidden) =>
      `${head()}transfer-encoding: chunked\r\ncontent-length: ${hidden.length + 5}\r\n\r\n0\r\n\r\n${hidden}`,
    'a length and chunks': (hidden) =>
      `${head()}content-length: ${hidden.length + 5}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
    'the encoding identity, and a length': (hidden) =>
      `${head()}transfer-encoding: identity\r\ncontent-length: 0\r\n\r\n${hidden}`,
    'two encodings': (hidden) =>
      `${head()}transfer-encoding: identity\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
    'an empty encoding': (hidden) => `${head()}transfer-encoding:\r\ncontent-length: 0\r\n\r\n${hidden}`,
    'a blank before the colon of the encoding': (hidden) =>
      `${head()}content-length: 0\r\ntransfer-encoding : chunked\r\n\r\n${hidden}`,
    'a chunk size that is no digit': (hidden) => `${head()}transfer-encoding: chunked\r\n\r\ng\r\n${hidden}`,
    'a length behind a header without a name': (hidden) =>
      `${head()}: x\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
    'an encoding behind a header without a name': (hidden) =>
      `${head()}: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
    'a second length behind a header without a name': (hidden) =>
      `${head()}content-length: 0\r\n: x\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
    'an encoding and a length around a header without a name': (hidden) =>
      `${head()}content-length: 0\r\n: x\r\ntransfer-encoding: chunked\r\n\r\n${hidden}`,
    'a bare line feed before the length': (hidden) =>
      `${head()}x: y\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
    'bare line feeds at the end of the headers': (hidden) => `${head()}content-length: ${hidden.length}\n\n${hidden}`,
    'a bare carriage return': (hidden) => `${head()}x: y\rcontent-length: ${hidden.length}\r\n\r\n${hidden}`,
    'a NUL in a header': (hidden) => `${head()}x: \0\r\ncontent-length: \0${hidden.length}\r\n\r\n${hidden}`,
    'a body with another method': (hidden) => `${head().replace('POST', 'GET')}\r\n${hidden}`,
    'a body and two lengths with another method': (hidden) =>
      `${head().replace('POST', 'GET')}content-length: 0\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
    'chunks with another method': (hidden) =>
      `${head().replace('POST', 'GET')}transfer-encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
    'two lengths to no route': (hidden) =>
      `${head('/none')}content-length: 0\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
    'chunks to no route': (hidden) => `${head('/none')}transfer-encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
    'a body of a page': (hidden) => `${head('/healthz').replace('POST', 'GET')}\r\n${hidden}`,
    'a length of a page behind a header without a name': (hidden) =>
      `${head('/healthz').replace('POST', 'GET')}: x\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
    'no length to no route': (hidden) => `${head('/none')}\r\n${hidden}`,
  }
  for (const [i, [expectation, attempt]] of Object.entries(attempts).entries()) {
    const connection = await server.raw()
    await connection.write(attempt(requestText('/topics/add', server.token, `{"path":"hidden/${i}"}`)))
    await barrier(server)
    // Ends the wait of a parser that needs more bytes.
    connection.end()
    await connection.closed
    const answers = await connection.answers(2)
    t.ok(
      answers.length <= 1 && answers.every(({ status }) => status >= 400),
      `${expectation}: ${connection.received.slice(0, 80)}`,
    )
    refuses(
      t,
      await server.post('fetch', { path: `hidden/${i}` }),
      400,
      'no_such_topic',
      `${expectation}: not executed`,
    )
  }
}

async function refusedRequests(t: Test, server: Server): Promise<void> {
  const hidden = requestText('/topics/add', server.token, '{"path":"hidden/behind"}')
  for (const [expectation, text, status] of [
    ['without a key', requestText('/topics/fetch', 'unknown', hidden), 401],
    [
      'with another content type',
      requestText('/topics/fetch', server.token, hidden).replace('application/json', 'text/plain'),
      415,
    ],
    ['to no route', requestText('/none', server.token, hidden), 404],
    ['with another method', requestText('/topics/fetch', server.token, hidden).replace('POST', 'PUT'), 405],
    ['with a body that is not JSON', requestText('/topics/fetch', server.token, hidden), 400],
  ] as const) {
    const connection = await server.raw()
    await connection.write(text)
    t.equal((await connection.answer())?.status, status, `${expectation}: refused`)
    await barrier(server)
    connection.end()
    await connection.closed
    t.equal((await connection.answers(2)).length, 1, `${expectation}: one answer`)
  }
  refuses(t, await server.post('fetch', { path: 'hidden/behind' }), 400, 'no_such_topic', 'its body was not executed')
}

async function oneAfterAnother(t: Test, server: Server): Promise<void> {
  const connection = await server.raw()
  for (let i = 0; i < 50; i++) {
    await connection.write(requestText('/topics/addAndSet', server.token, `{"path":"series","value":${i}}`))
    t.equal((await connection.answers(i + 1)).at(-1)?.body, `{"path":"series","created":${i === 0}}`, `answer ${i}`)
  }
  connection.close()

  const fetches = await server.raw()
  await fetches.write(requestText('/topics/fetch', server.token, '{"path":"series"}').repeat(3))
  const item = '{"path":"series","type":"json","value":49}'
  t.strictSame(
    (await fetches.answers(3)).map(({ body }) => body),
    [item, item, item],
    'fetches in one write are answered in order',
  )
  fetches.close()

  const writes = await server.raw()
  const set = (value: number) => requestText('/topics/set', server.token, `{"path":"series","value":${value}}`)
  await writes.write(set(100) + set(101))
  const answers = await writes.answers(2)
  t.ok(
    answers.every(({ status, body }) => status === 200 && body === '{"path":"series"}'),
    'writes in one write: no wrong answer',
  )
  writes.close()
  gives(t, await server.post('set', { path: 'series', value: 0 }), '{"path":"series"}', 'other clients are served')
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
    // A worker's writes are carried out in their order.
    const { connections } = server.client
    await Promise.all(Array.from({ length: connections }, () => server.post('addAndSet', { path: 'last', value: 0 })))
    refuses(
      t,
      await server.post('fetch', { path: `behind/${i}` }),
      400,
      'no_such_topic',
      `${expectation}: not executed`,
    )
  }
  refuses(t, await server.post('fetch', { path: 'behind/second' }), 400, 'no_such_topic', 'nor is the second')
  t.equal((await closed()) - before, Object.keys(texts).length, 'they are counted')
}

async function countedInCharacters(t: Test, server: Server): Promise<void> {
  const connection = await server.raw()
  const body = '{"path":"counted","value":"é"}'
  const text = requestText('/topics/addAndSet', server.token, body)
  await connection.write(text.replace(/content-length: \d+/, `content-length: ${body.length}`))
  t.match(await connection.answer(), { status: 400, body: /invalid_json/ }, 'its text ends too early')
  await connection.write(requestText('/topics/fetch', server.token, '{"path":"none"}'))
  t.match((await connection.answers(2)).at(1), { status: 400, body: /"invalid_framing".* in bytes, / }, 'the next one')
  await connection.closed
}

/** A caveat of the library, which waits for the rest of a line that never comes. */
async function emptyLine(t: Test, server: Server): Promise<void> {
  const connection = await server.raw()
  await connection.write(`${requestText('/topics/add', server.token, '{"path":"empty/line"}')}\r\n`)
  t.equal((await connection.answer())?.body, '{"path":"empty/line","created":true}', 'it is answered')
  await connection.write(requestText('/topics/add', server.token, '{"path":"empty/next"}'))
  await barrier(server)
  connection.close()
  refuses(t, await server.post('fetch', { path: 'empty/next' }), 400, 'no_such_topic', 'the next one is not executed')
}

async function notHttp(t: Test, server: Server): Promise<void> {
  const fetch = requestText('/topics/fetch', server.token, '{"path":"none"}')
  for (const [expectation, text] of [
    ['nothing but line ends', '\r\n\r\n\r\n\r\n'],
    ['random bytes', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'],
    ['another version', fetch.replace('HTTP/1.1', 'HTTP/9.9')],
    ['no version', fetch.replace(' HTTP/1.1', '')],
    ['a header without a colon', fetch.replace('host: topicd', 'host topicd')],
    ['headers larger than any limit', fetch.replace('host: topicd', `host: topicd\r\nx: ${'y'.repeat(100_000)}`)],
    [
      'more headers than there is room for',
      fetch.replace('host: topicd', `host: topicd\r\n${'x: y\r\n'.repeat(500)}x: y`),
    ],
    ['a route longer than any limit', fetch.replace('/topics/fetch', `/${'x'.repeat(100_000)}`)],
  ] as const) {
    const connection = await server.raw()
    await connection.write(text)
    await barrier(server)
    connection.end()
    await connection.closed
    const answers = await connection.answers(2)
    t.ok(
      answers.length <= 1 && answers.every(({ status }) => status >= 400),
      `${expectation}: ${connection.received.slice(0, 60)}`,
    )
  }
}

async function disconnections(t: Test, server: Server): Promise<void> {
  const { token, post } = server
  await post('addAndSet', { path: 'left', value: 0 })
  const set = requestText('/topics/set', token, `{"path":"left","value":"${'x'.repeat(5000)}"}`)

  for (let i = 0; i < 10; i++) {
    const connection = await server.raw()
    await connection.write(set.slice(0, set.length - 1 - i * 500))
    connection.abort()
  }
  await barrier(server)
  gives(
    t,
    await post('fetch', { path: 'left' }),
    '{"path":"left","type":"json","value":0}',
    'an incomplete body changed nothing',
  )

  for (let i = 0; i < 20; i++) {
    const connection = await server.raw()
    await connection.write(set)
    if (i % 2 === 0) connection.abort()
    else connection.end()
  }
  await barrier(server)
  t.equal(server.timesLogged('worker died'), 0, 'writes whose clients had gone ended no worker')

  const halfClosed = await server.raw()
  await halfClosed.write(requestText('/topics/fetch', token, '{"selector":"none"}'))
  halfClosed.end()
  await halfClosed.closed
  const answers = await halfClosed.answers(1)
  t.ok(
    answers.every(({ status }) => status === 200),
    'a client that has closed its half is answered or closed',
  )

  await Promise.all(
    Array.from({ length: 20 }, (_, i) => post('addAndSet', { path: `wide/${i}`, value: 'x'.repeat(400_000) })),
  )
  for (let i = 0; i < 10; i++) {
    const connection = await server.raw()
    await connection.write(requestText('/topics/fetch', token, '{"selector":"*wide//","size":20}'))
    if (i % 2 === 0) await barrier(server)
    connection.abort()
  }
  const page = await post('fetch', { selector: '*wide//', size: 20 })
  t.equal(page.text.length > 7_900_000, true, 'a client that stays gets a large page whole')
}
