/** Starting and stopping: rejected starts, the effect of signals, and the deaths of workers. */

import { strict as assert } from 'node:assert'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { failedStartsMax } from '../../dist/cluster/primary/restarts.js'
import { first } from '../support/elements.js'
import { overwriteModule, patchedProgram } from '../support/faults/patched.js'
import { get } from '../support/service/metrics.js'
import { runCommand, type Server, type StartOptions, startServer, until } from '../support/service/server.js'

// The test with `buffered` mostly waits until a worker may be started again.
t.jobs = 2

t.test('a service does not start on the directory or port of another service', async (t) => {
  const server = await startServer(t)
  const serve = (port: number, dataDir: string) =>
    runCommand(['serve', '--port', String(port), '--admin-port', '0', '--data', dataDir])

  await t.test('a second service on the same data directory is rejected', async (t) => {
    const second = await serve(0, server.dataDir)
    t.equal(second.code, 11)
    t.ok(second.stderr.includes(server.dataDir), second.stderr.trim())
  })

  await t.test('a port that another topicd uses is rejected', async (t) => {
    const { code } = await serve(server.port, join(t.testdirName, 'other'))
    t.equal(code, 10)
  })

  await t.test('the error for a port in use names the port, and no worker is forked', async (t) => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    t.teardown(() => taken.close())
    const { port } = taken.address() as { port: number }
    const { code, stderr, stdout } = await serve(port, join(t.testdir(), 'db'))
    t.equal(code, 10)
    t.match(stderr, new RegExp(`127\\.0\\.0\\.1:${port}`))
    t.notMatch(stdout, /"role":"worker"/)
  })

  t.equal((await server.post('add', { path: 'a' })).status, 200, 'the first service continues')
})

t.test('a service replaces a killed worker and drains when it stops', async (t) => {
  const workers = 2
  const server = await startServer(t, { workers })

  await t.test('a killed worker is replaced', async (t) => {
    await server.post('addAndSet', { path: 'kept', value: 1 })
    const killed = first(server.workerPids())
    process.kill(killed, 'SIGKILL')
    await server.logged('worker died', (line) => line.worker === killed)
    await server.logged('worker replaced')
    t.equal(server.workerPids().length, workers)
    const { text } = await server.connect().post('fetch', { path: 'kept' })
    t.equal(text, '{"path":"kept","type":"json","value":1}')
  })

  await t.test('after SIGTERM, the service answers requests in flight and exits with 0', async (t) => {
    const clients = Array.from({ length: 32 }, () => server.connect())
    await Promise.all(clients.map((client, i) => client.post('add', { path: `warm/${i}` })))
    const inFlight = clients.map((client, i) => client.post('addAndSet', { path: `p/${i}`, value: i }))
    t.strictSame(await server.stop(), { code: 0, signal: null })
    t.ok((await Promise.all(inFlight)).every(({ status }) => status === 200))
    const again = await startServer(t, { dataDir: server.dataDir, token: server.token, check: false })
    const [page] = await again.client.walk('*p//', { size: clients.length })
    t.equal(page?.results.length, clients.length, 'all topics are there')
  })
})

/** Starts a server with a request whose body never arrives, so that its drain must wait. */
async function startBusy(t: Test, options: StartOptions): Promise<Server> {
  const server = await startServer(t, options)
  const connection = await server.raw()
  await connection.write(
    `POST /topics/add HTTP/1.1\r\nhost: x\r\nauthorization: Apikey ${server.token}\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{`,
  )
  return server
}

t.test('a second signal ends the service immediately', async (t) => {
  const server = await startBusy(t, { exitCode: undefined })
  server.signal('SIGTERM')
  await server.logged('stopping')
  // Signals within a second of the first are ignored.
  await until('the service ends', async () => {
    if (server.running) server.signal('SIGTERM')
    return server.running ? undefined : true
  })
  t.strictSame(await server.exited, { code: 130, signal: null })
})

t.test('further signals within a second of the first signal are ignored', async (t) => {
  const server = await startBusy(t, { flags: ['--drain-ms', '2000'] })
  server.signal('SIGTERM')
  await server.logged('stopping')
  for (const signal of ['SIGINT', 'SIGTERM'] as const) server.signal(signal)
  t.strictSame(await server.exited, { code: 0, signal: null })
  t.ok(
    server.log.some(({ msg }) => msg === 'stopped'),
    'the service drained to the end',
  )
})

async function readiness(server: Server): Promise<number> {
  return (await get(`${server.adminUrl}/readyz`)).status
}

/** Workers that cannot serve while a file exists. */
const refusingToServe = `import { existsSync } from 'node:fs'
import { startHttpServer as startSoundServer } from './sound-server.js'
export async function startHttpServer(...args) {
  if (existsSync(process.env.REFUSE_TO_SERVE)) throw new Error('told not to serve')
  return startSoundServer(...args)
}
`

/** Number of starts in a row that may fail, instead of 10. */
const failuresMax = 2

/** A program whose workers may refuse to serve, and which exits after fewer failed starts. */
function refusingProgram(directory: string): string {
  const program = patchedProgram(directory, 'http/server.js', refusingToServe)
  const module = 'cluster/primary/restarts.js'
  const text = readFileSync(join(dirname(program), module), 'utf8')
  const patched = text.replace(`failedStartsMax = ${failedStartsMax}`, `failedStartsMax = ${failuresMax}`)
  assert.notEqual(patched, text)
  overwriteModule(program, module, patched)
  return program
}

t.test('a service survives repeated deaths of its workers', { timeout: 600_000, buffered: true }, async (t) => {
  const directory = t.testdir()
  const refusal = join(directory, 'refusal')
  const program = refusingProgram(join(directory, 'program'))
  const dataDir = join(directory, 'db')
  const server = await startServer(t, { workers: 2, program, dataDir, env: { REFUSE_TO_SERVE: refusal }, exitCode: 12 })
  const killed = new Set<number>()
  const kill = (pid: number): void => {
    killed.add(pid)
    process.kill(pid, 'SIGKILL')
  }
  const alive = (): number[] => server.workerPids().filter((pid) => !killed.has(pid))
  const ready = () =>
    until(
      'the service is ready',
      async () => (alive().length === 2 && (await readiness(server)) === 200) || undefined,
      60_000,
    )

  await t.test('killed workers are replaced, regardless of their number and age', async () => {
    for (let deaths = 0; deaths < failuresMax + 2; deaths++) {
      if (deaths % 2 === 0) await ready()
      kill(await until('a worker runs', async () => alive()[0], 60_000))
    }
    await ready()
  })

  await t.test('the service continues but is not ready while only one of its workers serves', async (t) => {
    writeFileSync(refusal, '')
    kill(first(alive()))
    const failures = (): number => server.timesLogged('worker failed to start')
    await until(
      'more starts have failed than are allowed',
      async () => (failures() > failuresMax ? true : undefined),
      120_000,
    )
    t.equal((await server.connect().post('add', { path: 'a' })).status, 200)
    t.match((await get(`${server.adminUrl}/readyz`)).text, '1 of 2 workers is serving')
    t.match(
      server.log.find(({ msg }) => msg === 'worker failed to start'),
      { reason: 'told not to serve' },
    )
    rmSync(refusal)
    await ready()
  })

  await t.test('the service exits and reports why if all workers are killed and no new worker serves', async (t) => {
    writeFileSync(refusal, '')
    for (const pid of alive()) kill(pid)
    await until('the service ends', async () => (server.running ? undefined : true), 120_000)
    t.strictSame(await server.exited, { code: 12, signal: null })
    t.match(server.output, /[34] workers in a row died before they served/)
  })
})
