/**
 * The checks of the benchmarks can fail: the drivers detect a server that answers wrongly, with the wrong status or not
 * at all, and reading values back detects a server that loses a write.
 */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
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
const { Writer } = (await import(join(compiled, 'drivers/writer.js'))) as {
  Writer: new (
    running: object,
    exchanges: readonly object[],
  ) => {
    readonly answers: number
    readonly problem: string | undefined
    readonly wasLost: boolean
    readonly reconnectedMs: number | undefined
    stop(): Promise<void>
  }
}
const { lostWrite } = (await import(join(compiled, 'measure/check.js'))) as {
  lostWrite(running: object, scripts: readonly object[][], answered: readonly number[]): Promise<string | undefined>
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

test('a writer finds a wrong answer, and goes on after a lost connection', async (t) => {
  const exchange = { method: 'POST', path: '/x', body: '{}', expected: ['right'] }
  for (const [name, wrong] of faults) {
    const writer = new Writer({ port: await serverOf(t, tenthIs(wrong)), headers: {} }, [exchange])
    t.teardown(() => writer.stop())
    const isCut = name.includes('connection')
    // The tenth answer is the wrong one, or is given again over another connection.
    while (writer.answers < 20 && writer.problem === undefined) await new Promise((resolve) => setImmediate(resolve))
    t.equal(writer.problem !== undefined, !isCut, `${name}: only a wrong answer is a problem`)
    t.equal(writer.wasLost, isCut, `${name}: only a cut connection is a lost one`)
    t.equal(writer.reconnectedMs !== undefined, isCut, `${name}: the time until the next answer is known`)
  }
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
