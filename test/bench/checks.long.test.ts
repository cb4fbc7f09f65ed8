/**
 * The checks of the benchmarks can fail: the drivers detect a server that answers wrongly, with the wrong status or not
 * at all, and reading values back detects a server that loses a write.
 */
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createSocketServer } from 'node:net'
import { join } from 'node:path'
import { type Test, test } from 'tap'

const compiled = join(import.meta.dirname, '../..', 'dist-bench')

/** The parts used here of the compiled benchmarks, which have no declarations. */
interface Burst {
  readonly requests: number
  readonly problem?: string
}
interface Driver {
  run(job: object): Promise<Burst>
  stop(): Promise<void>
}
const { autocannonDriver } = (await import(join(compiled, 'drivers/autocannon.js'))) as {
  autocannonDriver(directory: string): Driver
}
const { wrkDriver } = (await import(join(compiled, 'drivers/wrk.js'))) as {
  wrkDriver(directory: string): Driver | undefined
}
const { lostWrite } = (await import(join(compiled, 'measure/check.js'))) as {
  lostWrite(running: object, scripts: readonly object[][], answered: readonly number[]): Promise<string | undefined>
}
const { uploadLines, uploadCommands } = (await import(join(compiled, 'drivers/upload.js'))) as {
  uploadLines(running: object, pieces: Iterable<string>, count: number): Promise<void>
  uploadCommands(port: number, pieces: Iterable<string>, count: number): Promise<void>
}

async function serverOf(t: Test, listener: RequestListener): Promise<number> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** Answers `right` to every request but the tenth. */
function tenthIs(wrong: RequestListener): RequestListener {
  let count = 0
  return (request, response) => {
    request.resume()
    if (++count === 10) wrong(request, response)
    else response.end('right')
  }
}

const faults: readonly (readonly [name: string, wrong: RequestListener, found: RegExp])[] = [
  ['a wrong body', (_request, response) => void response.end('wrong'), /wrong/],
  ['a body that is cut short', (_request, response) => void response.end('righ'), /righ\b/],
  ['a wrong status', (_request, response) => void response.writeHead(500).end('right'), /500|not 2xx/],
  ['a connection that is cut', (request) => void request.socket.destroy(), /answer|lost|failed/],
]

async function findsFaults(t: Test, driver: Driver): Promise<void> {
  t.teardown(() => driver.stop())
  const exchange = { method: 'POST', path: '/x', body: '{}', expected: ['right'] }
  const job = { headers: {}, blankDigits: false, seconds: 0.5, exchanges: [exchange], scripts: [[0], [0]] }
  const good = await driver.run({ ...job, port: await serverOf(t, (_request, response) => void response.end('right')) })
  t.equal(good.problem, undefined, 'right answers are not reported')
  t.ok(good.requests > 10, 'there are enough requests to reach the tenth')
  for (const [name, wrong, found] of faults) {
    const { problem } = await driver.run({ ...job, port: await serverOf(t, tenthIs(wrong)) })
    t.match(problem, found, `${name} among right answers is found`)
  }
}

test('autocannon finds one fault among right answers', async (t) => {
  await findsFaults(t, autocannonDriver(t.testdir()))
})

const skip = wrkDriver('') === undefined ? 'wrk is not installed' : false

test('wrk finds one fault among right answers', { skip }, async (t) => {
  await findsFaults(t, wrkDriver(t.testdir()) as Driver)
})

test('a value other than the one acknowledged last is found when it is read back', async (t) => {
  const port = await serverOf(t, (_request, response) => void response.end('"first"'))
  const exchange = ({ values }: { values: readonly string[] }): object => ({
    method: 'POST',
    path: '/x',
    body: '{}',
    expected: values,
  })
  const running = { port, headers: {}, blankDigits: false, exchange }
  const script = ['"first"', '"second"'].map((value) => ({ kind: 'overwrite', path: 'a', value }))
  t.equal(
    await lostWrite(running, [script], [1]),
    undefined,
    'the first value was the last one acknowledged: nothing is lost',
  )
  t.match(await lostWrite(running, [script], [2]), /acknowledged last/, 'the second one was: it is lost')
  t.equal(await lostWrite(running, [script], [3]), undefined, 'the script started again: nothing is lost')
})

test('a write of a batch or on a condition that was acknowledged and is not there is found', async (t) => {
  const port = await serverOf(t, (request, response) => void response.end(request.url === '/b' ? '"old"' : '"new"'))
  const exchange = ({ path, values }: { path: string; values: readonly string[] }): object => ({
    method: 'POST',
    path: `/${path}`,
    body: '{}',
    expected: values,
  })
  const running = { port, headers: {}, blankDigits: false, exchange }
  const batch = (...paths: string[]) => ({ kind: 'batch', writes: paths.map((path) => ({ path, value: '"new"' })) })
  t.equal(await lostWrite(running, [[batch('a', 'c')]], [1]), undefined, 'a whole batch is there')
  t.match(await lostWrite(running, [[batch('a', 'b')]], [1]), /^b was read back as "old"/, 'one of its writes is lost')
  const cas = (path: string) => ({ kind: 'cas', path, current: '"old"', value: '"new"' })
  t.equal(await lostWrite(running, [[cas('a')]], [1]), undefined, 'a write on a condition is there')
  t.match(await lostWrite(running, [[cas('b')]], [1]), /^b was read back as "old"/, 'one that is lost is found')
  t.equal(await lostWrite(running, [[cas('b')]], [0]), undefined, 'one that was not acknowledged may be lost')
})

test('an increment that was acknowledged and is not there is found', async (t) => {
  const port = await serverOf(t, (_request, response) => void response.end('5'))
  const exchange = ({ value }: { value: string }): object => ({
    method: 'POST',
    path: '/x',
    body: '{}',
    expected: [value],
  })
  const running = { port, headers: {}, blankDigits: false, exchange }
  const scripts = [[{ kind: 'increment', path: 'a' }], [{ kind: 'increment', path: 'a' }]]
  t.equal(await lostWrite(running, scripts, [2, 3]), undefined, 'all five are there')
  t.match(await lostWrite(running, scripts, [3, 3]), /^a was read back as 5, though 6 /, 'the sixth is lost')
  t.match(await lostWrite(running, scripts, [1, 3]), /^a was read back as 5, though 4 /, 'one was counted twice')
})

test('a topic that several connections write may hold what any of them wrote last, and nothing older', async (t) => {
  const port = await serverOf(t, (_request, response) => void response.end('"b2"'))
  const exchange = ({ values }: { values: readonly string[] }): object => ({
    method: 'POST',
    path: '/x',
    body: '{}',
    expected: values,
  })
  const running = { port, headers: {}, blankDigits: false, exchange }
  const script = (name: string) => [1, 2].map((i) => ({ kind: 'set', path: 'one', value: `"${name}${i}"` }))
  const scripts = [script('a'), script('b')]
  t.equal(await lostWrite(running, scripts, [1, 2]), undefined, 'the second connection wrote last')
  t.match(await lostWrite(running, scripts, [2, 3]), /acknowledged last/, 'it wrote another value since')
})

test('autocannon finds a sum that is not larger than the one before, and counts no attempt that was refused', async (t) => {
  const driver = autocannonDriver(t.testdir())
  t.teardown(() => driver.stop())
  const burst = (of: string, listener: RequestListener) => incrementBurst(t, driver, of, listener)
  let sum = 0
  const answer = (): string => `{"path":"a","value":${sum}}`
  const counting: RequestListener = (request, response) => {
    sum++
    request.resume()
    response.end(answer())
  }
  const good = await burst('topicd', counting)
  t.equal(good.problem, undefined, 'sums that grow are right')
  t.equal(good.requests, sum, 'each answer is an increment')
  const stuck = await burst('topicd', tenthRepeats(counting, answer))
  t.match(stuck.problem, /an increment was answered/, 'one that tells the sum before is found')
  const [requests, bodies] = [{ count: 0 }, new Set<string>()]
  const contended = await burst('etcd', (request, response) => {
    request.setEncoding('utf8').on('data', (text: string) => bodies.add(text))
    request.on('end', () => response.end(transaction(++requests.count)))
  })
  t.equal(contended.problem, undefined, 'refusals are right answers')
  t.equal(contended.requests, Math.floor(requests.count / 2), 'every second attempt succeeds and is counted')
  t.ok(bodies.size > 10, 'attempts compare with what the last answer told')
})

function incrementBurst(t: Test, driver: Driver, of: string, listener: RequestListener): Promise<Burst> {
  const exchange = { method: 'POST', path: '/x', body: '{}', expected: [], counting: { of, path: 'a' } }
  const job = { headers: {}, blankDigits: false, seconds: 0.3, exchanges: [exchange], scripts: [[0]] }
  return serverOf(t, listener).then((port) => driver.run({ ...job, port }))
}

/** Answers the tenth request with the sum of the ninth. */
function tenthRepeats(counting: RequestListener, answer: () => string): RequestListener {
  let count = 0
  return (request, response) => {
    if (++count !== 10) return counting(request, response)
    request.resume()
    response.end(answer())
  }
}

/** etcd's answer to every attempt: refused if its number is odd, by someone else's value. */
function transaction(attempt: number): string {
  const header = '"header":{"cluster_id":"1","member_id":"1","revision":"1","raft_term":"1"}'
  const revision = String(attempt)
  if (attempt % 2 === 0) {
    return `{${header},"succeeded":true,"responses":[{"response_put":{"header":{"revision":"${revision}"}}}]}`
  }
  const value = Buffer.from(String(attempt * 10)).toString('base64')
  const kv = `{"key":"YQ==","create_revision":"1","mod_revision":"${revision}","version":"1","value":"${value}"}`
  return `{${header},"responses":[{"response_range":{"header":{"revision":"1"},"kvs":[${kv}],"count":"1"}}]}`
}

const refusal = '{"line":1,"code":"no_such_topic","message":"There is none."}'

/** Answers to an upload of two lines, and what is found in them. */
const uploadAnswers: readonly (readonly [name: string, answer: string, found: RegExp | undefined])[] = [
  ['a right answer', '{"durable":1,"refused":0}\n {"done":true,"durable":2,"refused":0}\n', undefined],
  ['an answer without its last line', '{"durable":2,"refused":0}\n', /ended with/],
  ['a last line without its end', '{"done":true,"durable":2,"refused":0}', /ended with/],
  ['a line that is not durable', '{"done":true,"durable":1,"refused":0}\n', /ended with/],
  ['a refusal', `${refusal}\n{"done":true,"durable":1,"refused":1}\n`, /no_such_topic/],
  ['an upload that ended early', '{"code":"draining","message":"Later.","durable":2,"refused":0}\n', /ended with/],
]

test('an upload finds what is missing from its answer', async (t) => {
  for (const [name, answer, found] of uploadAnswers) {
    const port = await serverOf(t, (request, response) => void request.resume().on('end', () => response.end(answer)))
    const problem = await uploadLines({ port, headers: {} }, ['{}\n', '{}\n'], 2).catch(String)
    t.match(problem ?? '', found ?? /^$/, name)
  }
  const port = await serverOf(t, (_request, response) => void response.writeHead(503).end('no'))
  await t.rejects(uploadLines({ port, headers: {} }, ['{}\n'], 1), /answered 503/, 'a wrong status')
})

test('an upload of commands finds one answer that is wrong, and one that is missing', async (t) => {
  const port = (answer: string): Promise<number> => socketServerOf(t, answer)
  await uploadCommands(await port('+OK\r\n+OK\r\n'), ['SET'], 2)
  await t.rejects(uploadCommands(await port('+OK\r\n-ERR\r\n'), ['SET'], 2), /wrong: \+OK\r\n-ERR/)
  await t.rejects(uploadCommands(await port('+OK\r\n'), ['SET'], 2), /after 5 bytes of answers/)
  await t.rejects(uploadCommands(await port('+OK\r\n+OK\r\n+OK\r\n'), ['SET'], 2), /after 15 bytes of answers/)
})

/** Answers the first piece that arrives, and closes the connection. */
async function socketServerOf(t: Test, answer: string): Promise<number> {
  const server = createSocketServer((socket) => socket.once('data', () => socket.end(answer)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}
