/** Lost connections, time limits, aborts, and responses from elsewhere, provoked by a stub. */
import { getEventListeners } from 'node:events'
import t, { type Test } from 'tap'
import { type Client, connect, type Operation, TopicdError } from '../../dist/client/index.js'
import { present } from '../support/elements.js'
import { collectGarbage } from '../support/garbage.js'
import { freePorts } from '../support/machines/ports.js'
import { type StubAnswer, startStub } from '../support/service/stub.js'

/** A response that the client accepts on every route. */
const fine: StubAnswer = { text: '{"path":"a","type":"json","has_more":false,"results":[],"removed":1}' }

t.test('connect() rejects invalid arguments with a message that does not show the key', (t) => {
  const plain = connect as (...args: readonly unknown[]) => Client
  const url = 'http://127.0.0.1:8080'
  const missing = new TypeError('the API key is missing; pass it as "key": connect(url, { key })')
  for (const options of [undefined, null, {}, { key: '' }]) t.throws(() => plain(url, options), missing)
  t.throws(() => plain(url, { key: 7 }), new TypeError('"key", the API key, must be a string, not a number'))
  for (const key of [' ', 'two\nlines', 'Apikey secret', 'sécret'])
    t.throws(
      () => plain(url, { key }),
      new TypeError('"key" contains a character that is not allowed in an API key'),
      key,
    )
  for (const wrong of [
    undefined,
    'localhost:8080',
    '/base',
    'ftp://h',
    'http://',
    'http://u:p@h',
    'http://h/?x',
    'http://h/#x',
  ])
    t.throws(() => plain(wrong, { key: 'k' }), {
      name: 'TypeError',
      message: `url must be an http or https URL with only a host, a port and a path, but is ${wrong}`,
    })
  t.end()
})

const repeated: readonly (readonly [string, (topics: Client) => Promise<unknown>])[] = [
  ['get', (topics) => topics.get('a')],
  ['page', (topics) => topics.page('>a')],
  ['set', (topics) => topics.set('a', 1)],
  ['addAndSet', (topics) => topics.addAndSet('a', 1)],
  ['add', (topics) => topics.add('a')],
  ['remove', (topics) => topics.remove('a')],
  ['remove, dry', (topics) => topics.remove('a', { dry_run: true })],
  ['removeMatches', (topics) => topics.removeMatches('>a')],
]

const operations: readonly Operation[] = [{ op: 'set', path: 'a', value: 1 }]

const notRepeated: typeof repeated = [
  ['set with a constraint', (topics) => topics.set('a', 1, { constraint: { value: 0 } })],
  ['addAndSet with a constraint', (topics) => topics.addAndSet('a', 1, { constraint: { no_topic: true } })],
  ['add with a constraint', (topics) => topics.add('a', { constraint: { no_topic: true } })],
  ['remove with a constraint', (topics) => topics.remove('a', { constraint: { no_value: true } })],
  ['batch', (topics) => topics.batch(operations)],
]

/** Responds to one request, so that its connection is kept alive, and loses the next `losses` requests by `loss`. */
async function losing(t: Test, loss: StubAnswer, losses: number) {
  const stub = await startStub(t, (_, index) => (index > 0 && index <= losses ? loss : fine))
  const topics = connect(stub.url, { key: 'k' })
  await topics.get('warm-up')
  return { stub, topics }
}

for (const loss of ['close', 'close midway'] as const) {
  t.test(`a request is repeated once after a lost connection ("${loss}") if that is harmless`, async (t) => {
    for (const [name, request] of repeated) {
      const { stub, topics } = await losing(t, loss, 1)
      await request(topics)
      t.equal(stub.requests.length, 3, `${name}: the request was sent twice`)
      t.equal(stub.requests[1]?.text, stub.requests[2]?.text, name)
    }
    const { stub, topics } = await losing(t, loss, 2)
    await t.rejects(topics.get('a'), TypeError, 'but only once')
    t.equal(stub.requests.length, 3)
  })

  t.test(`a request is not repeated after a lost connection ("${loss}") if that could do harm`, async (t) => {
    for (const [name, request] of notRepeated) {
      const { stub, topics } = await losing(t, loss, 1)
      await t.rejects(request(topics), TypeError, name)
      t.equal(stub.requests.length, 2, `${name}: the request was sent once`)
    }
  })
}

t.test('a write with a constraint is sent again after a refused connection', async (t) => {
  const stub = await startStub(t, () => fine)
  const [port] = await freePorts(1)
  let attempts = 0
  const topics = connect(stub.url, {
    key: 'k',
    fetch: (url, init) => fetch(++attempts === 1 ? `http://127.0.0.1:${port}` : url, init),
  })
  await topics.set('a', 1, { constraint: { value: 0 } })
  t.equal(attempts, 2)
})

t.test('a request is repeated after failures that Node.js and browsers report as lost connections', async (t) => {
  const withCause = (code: string) => new TypeError('fetch failed', { cause: Object.assign(new Error(), { code }) })
  const cases: readonly (readonly [string, Error, attempts: number, attemptsOfBatch: number])[] = [
    ['browser', new TypeError('Failed to fetch'), 2, 1],
    ['Node.js, closed', withCause('UND_ERR_SOCKET'), 2, 1],
    ['Node.js, reset', withCause('ECONNRESET'), 2, 1],
    ['Node.js, refused', withCause('ECONNREFUSED'), 2, 2],
    ['a fetch with its own codes', Object.assign(new Error(), { code: 'ECONNRESET' }), 2, 1],
    ['unknown name', withCause('ENOTFOUND'), 1, 1],
    ['no response', withCause('UND_ERR_HEADERS_TIMEOUT'), 1, 1],
    ['aborted', new DOMException('', 'AbortError'), 1, 1],
    ['too slow', new DOMException('', 'TimeoutError'), 1, 1],
    ['a defect', new RangeError(), 1, 1],
  ]
  for (const [name, error, ...expected] of cases) {
    let attempts = 0
    const failing = connect('http://h', { key: 'k', fetch: () => Promise.reject(++attempts > 0 ? error : undefined) })
    await t.rejects(failing.get('a'), error, name)
    t.equal(attempts, expected[0], name)
    attempts = 0
    await t.rejects(failing.batch(operations), error, name)
    t.equal(attempts, expected[1], `a batch: ${name}`)
  }
})

t.test('a request that exceeds its time limit fails with a TimeoutError, and is not repeated', async (t) => {
  const stub = await startStub(t, () => 'be silent')
  for (const timeoutMs of [50, undefined]) {
    const topics = connect(stub.url, timeoutMs === undefined ? { key: 'k' } : { key: 'k', timeoutMs })
    const signal = timeoutMs === undefined ? AbortSignal.timeout(50) : new AbortController().signal
    await t.rejects(topics.get('a', { signal }), { name: 'TimeoutError' })
  }
  // On a busy machine, a request may end before it arrives.
  t.ok(stub.requests.length <= 2, `${stub.requests.length} requests`)
})

t.test('an aborted request rejects with the reason, and is not repeated', async (t) => {
  const reason = new Error('no longer needed')
  for (const timeoutMs of [60_000, undefined]) {
    const controller = new AbortController()
    const stub = await startStub(t, () => {
      controller.abort(reason)
      return 'close'
    })
    const topics = connect(stub.url, timeoutMs === undefined ? { key: 'k' } : { key: 'k', timeoutMs })
    const { signal } = controller
    await t.rejects(topics.get('a', { signal }), reason)
    await t.rejects(topics.set('a', 1, { signal }), reason, 'aborted before')
    await t.rejects(topics.walk('>a', { signal }).next(), reason)
    const update = topics.update('a', () => 1, { signal })
    await t.rejects(update, reason)
    t.equal(stub.requests.length, 1)
  }
})

t.test('a request leaves no listener on its signal', async (t) => {
  const stub = await startStub(t, () => {
    collectGarbage()
    return fine
  })
  const { signal } = new AbortController()
  const topics = connect(stub.url, { key: 'k', timeoutMs: 60_000 })
  for (let i = 0; i < 10; i++) await topics.get('a', { signal })
  t.equal(getEventListeners(signal, 'abort').length, 0)
  await Promise.all(Array.from({ length: 10 }, () => topics.get('a', { signal })))
  t.equal(getEventListeners(signal, 'abort').length, 0, 'after overlapping requests')
})

async function errorOf(topics: Client): Promise<TopicdError> {
  const error: unknown = await topics.batch(operations).catch((reason) => reason)
  return present(error instanceof TopicdError ? error : undefined)
}

t.test('the error for a rejected request has all members of the response, and no request is repeated', async (t) => {
  const refusal = JSON.stringify({ code: 'overloaded', message: 'Later.', operation: 3 })
  const stub = await startStub(t, () => ({ status: 503, headers: { 'retry-after': '7' }, text: refusal }))
  t.match(await errorOf(connect(stub.url, { key: 'k' })), {
    status: 503,
    code: 'overloaded',
    message: 'Later.',
    operation: 3,
    retryAfterSeconds: 7,
  })
  t.equal(stub.requests.length, 1)
})

t.test('a response from another program causes the error unexpected_answer', async (t) => {
  const answers: readonly [number, string][] = [
    [502, '<html>Bad Gateway</html>'],
    [400, '{"code":1,"message":"x"}'],
    [200, '<html>Welcome</html>'],
    [200, '{"results":{}}'],
    [204, ''],
  ]
  for (const [status, text] of answers) {
    const headers = { 'retry-after': 'Sun, 06 Nov 1994 08:49:37 GMT' }
    const stub = await startStub(t, () => ({ status, text, headers }))
    const topics = connect(stub.url, { key: 'k' })
    t.match(await errorOf(topics), { status, code: 'unexpected_answer', retryAfterSeconds: undefined }, text)
    for (const request of [topics.get('a'), topics.page('>a'), topics.walk('>a').next()])
      await t.rejects(request as Promise<unknown>, { name: 'TopicdError', status, code: 'unexpected_answer' }, text)
  }
  const stub = await startStub(t, () => ({ text: '{"has_more":true,"results":[]}' }))
  await t.rejects(connect(stub.url, { key: 'k' }).walk('>a').next(), { code: 'unexpected_answer' })
})

t.test('each request is a POST below the base path, with the API key', async (t) => {
  const stub = await startStub(t, () => fine)
  for (const base of ['', '/base/x//']) {
    await connect(stub.url + base, { key: 'the-key' }).set('a', 1)
    const { path, headers, text } = present(stub.requests.at(-1))
    t.equal(path, `${base.replace(/\/+$/, '')}/topics/set`)
    t.equal(headers.authorization, 'Apikey the-key')
    t.equal(headers['content-type'], 'application/json')
    t.equal(headers['content-length'], String(text.length))
    t.equal(text, '{"path":"a","value":1}')
  }
  await connect(stub.url, { key: ' the-key\n' }).get('a')
  t.equal(
    present(stub.requests.at(-1)).headers.authorization,
    'Apikey the-key',
    'white space around the key is trimmed',
  )
})
