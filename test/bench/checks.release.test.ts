/**
 * The checks of the benchmarks can fail: the drivers detect a server that sends wrong responses, a wrong status or no response, and reading
 * values back detects a server that loses a write.
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

/** Returns `right` for every request but the tenth. */
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
  ['a connection that is cut', (request) => void request.socket.destroy(), /response|lost|failed/],
]

async function findsFaults(t: Test, driver: Driver): Promise<void> {
  t.teardown(() => driver.stop())
  const exchange = { method: 'POST', path: '/x', body: '{}', expected: ['right'] }
  const job = { headers: {}, blankDigits: false, seconds: 0.5, exchanges: [exchange], scripts: [[0], [0]] }
  const good = await driver.run({ ...job, port: await serverOf(t, (_request, response) => void response.end('right')) })
  t.equal(good.problem, undefined, 'correct responses are not reported')
  t.ok(good.requests > 10, 'there are enough requests to reach the tenth')
  for (const [name, wrong, found] of faults) {
    const { problem } = await driver.run({ ...job, port: await serverOf(t, tenthIs(wrong)) })
    t.match(problem, found, `${name} among correct responses is found`)
  }
}

test('autocannon finds one fault among correct responses', async (t) => {
  await findsFaults(t, autocannonDriver(t.testdir()))
})

const skip = wrkDriver('') === undefined ? 'wrk is not installed' : false

test('wrk finds one fault among correct responses', { skip }, async (t) => {
  await findsFaults(t, wrkDriver(t.testdir()) as Driver)
})

const overwrites = ['"first"', '"second"'].map((value) => ({ kind: 'overwrite', path: 'a', value }))
const batch = (...paths: string[]) => ({ kind: 'batch', writes: paths.map((path) => ({ path, value: '"new"' })) })
const cas = (path: string) => ({ kind: 'cas', path, current: '"old"', value: '"new"' })
const increments = [[{ kind: 'increment', path: 'n' }], [{ kind: 'increment', path: 'n' }]]
const sets = ['a', 'b'].map((name) => [1, 2].map((i) => ({ kind: 'set', path: 'one', value: `"${name}${i}"` })))

/** The server's final value at each path; "new" at any other path. */
const readBack: Readonly<Record<string, string>> = { a: '"first"', b: '"old"', n: '5', one: '"b2"' }

/** Scripts of connections, the number of correct responses each received, and the loss that should be found, if any. */
const losses: readonly (readonly [string, readonly object[][], readonly number[], RegExp | undefined])[] = [
  ['the value acknowledged last', [overwrites], [1], undefined],
  ['an older value', [overwrites], [2], /acknowledged last/],
  ['the first value, of a script that started over', [overwrites], [3], undefined],
  ['a whole batch', [[batch('c', 'd')]], [1], undefined],
  ['a batch without one of its writes', [[batch('c', 'b')]], [1], /^b was read back as "old"/],
  ['a conditional write', [[cas('c')]], [1], undefined],
  ['a lost conditional write', [[cas('b')]], [1], /^b was read back as "old"/],
  ['a lost write that was not acknowledged', [[cas('b')]], [0], undefined],
  ['all five increments', increments, [2, 3], undefined],
  ['five of six increments', increments, [3, 3], /^n was read back as 5, though 6 /],
  ['an increment counted twice', increments, [1, 3], /^n was read back as 5, though 4 /],
  ['the last value of one of two connections', sets, [1, 2], undefined],
  ['a value that both connections have replaced', sets, [2, 3], /acknowledged last/],
]

test('reading values back finds exactly the acknowledged writes that are lost', async (t) => {
  const port = await serverOf(t, ({ url = '' }, response) => void response.end(readBack[url.slice(1)] ?? '"new"'))
  const exchange = ({ path, value, values }: { path: string; value?: string; values?: readonly string[] }) => ({
    ...{ method: 'POST', path: `/${path}`, body: '{}', expected: values ?? [value] },
  })
  const running = { port, headers: {}, blankDigits: false, exchange }
  for (const [name, scripts, answered, found] of losses)
    t.match((await lostWrite(running, scripts, answered)) ?? '', found ?? /^$/, name)
})
