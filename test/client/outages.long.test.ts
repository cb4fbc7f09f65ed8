/** Outages as the client reports them: their start, their end, and interruptions that are not outages. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type Changes, connect, type Disconnection, type LiveTopics, type LiveTree } from '../../dist/client/index.js'
import { until } from '../support/service/server.js'
import { type StubAnswer, startStub } from '../support/service/stub.js'

const complete = 'data: {"has_more":false,"results":[],"next":"t"}\n\n'

/** A response with a stream that ends after this text. */
function stream(text: string): StubAnswer {
  return { headers: { 'content-type': 'text/event-stream' }, text: `retry: 1\n${text}` }
}

function ended(code: string): StubAnswer {
  return stream(`${complete}event: end\ndata: {"code":"${code}","message":"It has ended: ${code}."}\n\n`)
}

/** The reported connection events, in order. */
function toldBy(target: Changes | LiveTopics | LiveTree): string[] {
  const told: string[] = []
  target.addEventListener('connected', () => told.push('connected'))
  const tellOutage = ({ detail }: CustomEvent<Disconnection>) => told.push(`disconnected: ${detail.error}`)
  target.addEventListener('disconnected', (event) => tellOutage(event as CustomEvent<Disconnection>))
  return told
}

async function follow(t: Test, answers: readonly StubAnswer[]) {
  const stub = await startStub(t, (_, index) => answers[index] ?? 'be silent')
  const live = connect(stub.url, { key: 'k' }).follow('*.*')
  t.teardown(() => live.close())
  const told = toldBy(live)
  await until('every answer', async () => stub.requests.length > answers.length || undefined)
  return { live, told }
}

t.test('an outage is reported once, however many attempts it takes', async (t) => {
  const { told } = await follow(t, [
    'close',
    { status: 503, text: '{"code":"overloaded","message":"x"}' },
    stream(complete),
    'close',
    { status: 502, text: '<html>' },
    stream(complete),
  ])
  t.strictSame(told, [
    'disconnected: TypeError: fetch failed',
    'connected',
    'disconnected: Error: the stream has ended',
    'connected',
    'disconnected: Error: the stream has ended',
  ])
})

t.test('a retry ends the wait between two attempts, but not an attempt', async (t) => {
  const overloaded = { status: 503, text: '{"code":"overloaded","message":"x"}' }
  const stub = await startStub(t, (_, index) => (index === 0 ? overloaded : 'be silent'))
  const client = connect(stub.url, { key: 'k' })
  const live = client.follow('*.*')
  t.teardown(() => live.close())
  await once(live, 'disconnected')
  for (let retries = 0; retries < 20; retries++) {
    client.retry()
    await sleep(10)
  }
  // One more if this took longer than a silent stream is waited for.
  t.ok([2, 3].includes(stub.requests.length), `${stub.requests.length} attempts`)
})

t.test('the planned end of a stream is an outage unless the stream resumes immediately', async (t) => {
  const { live, told } = await follow(t, [ended('rotated'), ended('rotated')])
  t.strictSame(told, ['connected'])
  t.ok(live.isConnected)
  t.ok(live.isComplete)
  for (const code of ['draining', 'store_unavailable']) {
    const { live, told } = await follow(t, [ended(code)])
    t.strictSame(told, ['connected', `disconnected: Error: It has ended: ${code}.`])
    t.notOk(live.isConnected)
    t.notOk(live.isComplete)
  }
})

t.test('a tree reports an outage once, even if changes were missed', async (t) => {
  recordWaits(t)
  const gone = { status: 410, text: '{"code":"since_gone","message":"x"}' }
  const answers = [stream(complete), gone, 'close', stream(complete)] as const
  let asked = 0
  const stub = await startStub(t, ({ path }) =>
    path === '/topics/changes' ? (answers[asked++] ?? 'be silent') : { text: '{"has_more":false,"results":[]}' },
  )
  const tree = connect(stub.url, { key: 'k' }).followTree()
  t.teardown(() => tree.close())
  const told = toldBy(tree)
  await until('every answer', async () => asked > answers.length || undefined)
  const ended = 'disconnected: Error: the stream has ended'
  t.strictSame(told, ['connected', ended, 'connected', ended])
})

t.test('`ready` rejects if the first connection fails, but following continues', async (t) => {
  const stub = await startStub(t, () => stream(complete))
  const lost = new TypeError('a wrong port')
  let isThere = false
  const live = connect(stub.url, {
    key: 'k',
    timeoutMs: 50,
    fetch: (...args) => (isThere ? fetch(...args) : Promise.reject(lost)),
  }).follow('*.*')
  t.teardown(() => live.close())
  await t.rejects(live.ready, lost)
  isThere = true
  await once(live, 'complete')
  t.ok(live.isConnected && live.isComplete)
  live.close()
  await until('the end', async () => !(live.isConnected || live.isComplete) || undefined)
  const silent = await startStub(t, () => 'be silent')
  const unanswered = connect(silent.url, { key: 'k', timeoutMs: 50 }).follow('*.*')
  t.teardown(() => unanswered.close())
  await t.rejects(unanswered.ready, { name: 'TimeoutError', message: 'no response within 50 ms' })
})

t.test('an iteration of changes reports when its connection opens and is lost', async (t) => {
  const stub = await startStub(t, (_, index) => (index === 1 ? 'close' : stream(complete)))
  const changes = connect(stub.url, { key: 'k' }).changes('*.*')
  const told = toldBy(changes)
  let completed = 0
  for await (const { kind } of changes) if (kind === 'complete' && ++completed === 2) break
  t.strictSame(told, ['connected', 'disconnected: Error: the stream has ended', 'connected'])
  t.notOk(changes.isConnected, 'not connected after the iteration')
})

/** Differs from every time limit for a response. */
const retryAfterSeconds = 77

/** Records the waits between attempts, and ends each wait immediately. */
function recordWaits(t: Test): readonly number[] {
  const { setTimeout } = globalThis
  const waitsMs: number[] = []
  // Time limits for responses are whole seconds, and these tests' polls are short.
  globalThis.setTimeout = ((callback: () => void, ms: number) => {
    if ((ms % 1000 === 0 && ms !== 1000 * retryAfterSeconds) || ms < 100) return setTimeout(callback, ms)
    waitsMs.push(ms)
    return setTimeout(callback, 0)
  }) as typeof setTimeout
  t.teardown(() => Object.assign(globalThis, { setTimeout }))
  return waitsMs
}

t.test('waits between attempts grow until an attempt gets a page', async (t) => {
  const waitsMs = recordWaits(t)
  await follow(t, ['close', 'close', 'close', stream(complete), 'close'])
  t.equal(waitsMs.length, 4)
  for (const [index, longestMs] of [500, 1000, 2000, 500].entries()) {
    const ms = waitsMs[index] ?? 0
    t.ok(ms >= longestMs / 2 && ms <= longestMs, `${ms} ms of ${longestMs}`)
  }
})

t.test('the next attempt waits as long as the service requests', async (t) => {
  const waitsMs = recordWaits(t)
  const headers = { 'retry-after': String(retryAfterSeconds) }
  const refused = [429, 503].map((status) => ({ status, headers, text: '{"code":"overloaded","message":"x"}' }))
  await follow(t, refused)
  t.strictSame(waitsMs, [1000 * retryAfterSeconds, 1000 * retryAfterSeconds], 'each time')
})

t.test('waits before consecutive restarts of a walk grow', async (t) => {
  const waitsMs = recordWaits(t)
  const { told } = await follow(t, Array<StubAnswer>(9).fill(ended('since_gone')))
  t.equal(waitsMs.length, 9)
  for (const [index, ms] of waitsMs.entries()) {
    const longestMs = Math.min(30_000, 500 * 2 ** index)
    t.ok(ms >= longestMs / 2 && ms <= longestMs, `${ms} ms of ${longestMs}`)
  }
  t.equal(told.length, 18, 'each restart is an outage')
})

t.test('a response from another program ends follow() with an error', async (t) => {
  const html = '<html>Welcome</html>'
  const unexpected = { name: 'TopicdError', code: 'unexpected_answer', status: 200 }
  for (const data of [html, '{}', '{"has_more":false,"results":[{}],"next":"t"}', 'null']) {
    const stub = await startStub(t, () => stream(`data: ${data}\n\n`))
    await t.rejects(connect(stub.url, { key: 'k' }).follow('*.*').ready, unexpected, data)
    t.equal(stub.requests.length, 1, data)
  }
  const stub = await startStub(t, () => ({ text: html }))
  await t.rejects(connect(stub.url, { key: 'k' }).follow('*.*').ready, unexpected, 'a poll')
  t.equal(stub.requests.length, 2)
})

t.test("an error in the caller's fetch ends follow() with that error", async (t) => {
  const stub = await startStub(t, () => stream('data: {"has_more":false,"results":[],"next":"t"}\n\n'))
  for (const name of ['SyntaxError', 'ReferenceError', 'RangeError'] as const) {
    const defect = new globalThis[name]('a defect of the caller')
    let attempts = 0
    const failing = async () => {
      attempts++
      throw defect
    }
    await t.rejects(connect(stub.url, { key: 'k', fetch: failing }).follow('*.*').ready, defect)
    t.equal(attempts, 1, name)
  }
  const size = Symbol('not a number') as unknown as number
  await t.rejects(connect(stub.url, { key: 'k' }).follow('*.*', { size }).ready, /size is a symbol/)
})
