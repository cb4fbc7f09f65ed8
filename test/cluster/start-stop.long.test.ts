/** Starting and stopping: what is refused at the start, what a signal does, and what happens when a worker dies. */

import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { failedStartsMax } from '../../dist/cluster/primary/restarts.js'
import { first } from '../support/elements.js'
import { patchedProgram } from '../support/faults/patched.js'
import { get } from '../support/service/metrics.js'
import { runCommand, type Server, type StartOptions, startServer, until } from '../support/service/server.js'

// Most of the time, those with `buffered` wait until a worker may be started again.
t.jobs = 2

t.test('a start beside another service', async (t) => {
  const server = await startServer(t)
  const serve = (port: number, dataDir: string) =>
    runCommand(['serve', '--port', String(port), '--admin-port', '0', '--data', dataDir])

  await t.test('a second service on the same data directory is refused', async (t) => {
    const second = await serve(0, server.dataDir)
    t.equal(second.code, 11)
    t.ok(second.stderr.includes(server.dataDir), second.stderr.trim())
  })

  await t.test('the port of another topicd is refused too', async (t) => {
    const { code } = await serve(server.port, join(t.testdirName, 'other'))
    t.equal(code, 10)
  })

  await t.test('a port in use is refused with a message that names it, and no worker is forked', async (t) => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    t.teardown(() => taken.close())
    const { port } = taken.address() as { port: number }
    const { code, stderr, stdout } = await serve(port, join(t.testdir(), 'db'))
    t.equal(code, 10)
    t.match(stderr, new RegExp(`127\\.0\\.0\\.1:${port}`))
    t.notMatch(stdout, /"role":"worker"/)
  })

  t.equal((await server.post('add', { path: 'a' })).status, 200, 'the first one goes on')
})

for (const workers of [1, 3]) {
  t.test(`with ${workers} ${workers === 1 ? 'worker' : 'workers'}`, async (t) => {
    const server = await startServer(t, { workers })

    await t.test('a worker that is killed is replaced', async (t) => {
      await server.post('addAndSet', { path: 'kept', value: 1 })
      const killed = first(server.workerPids())
      process.kill(killed, 'SIGKILL')
      await server.logged('worker died', (line) => line.worker === killed)
      await server.logged('worker replaced')
      t.equal(server.workerPids().length, workers)
      const { text } = await server.connect().post('fetch', { path: 'kept' })
      t.equal(text, '{"path":"kept","type":"json","value":1}')
    })

    await t.test('SIGTERM answers what is in flight and ends with 0', async (t) => {
      const clients = Array.from({ length: 32 }, () => server.connect())
      await Promise.all(clients.map((client, i) => client.post('add', { path: `warm/${i}` })))
      const inFlight = clients.map((client, i) => client.post('addAndSet', { path: `p/${i}`, value: i }))
      t.strictSame(await server.stop(), { code: 0, signal: null })
      const answers = await Promise.allSettled(inFlight)
      const acknowledged = answers.flatMap((answer, i) =>
        answer.status === 'fulfilled' && answer.value.status === 200 ? [i] : [],
      )
      t.equal(acknowledged.length, clients.length)
      const again = await startServer(t, { dataDir: server.dataDir, token: server.token, check: false })
      for (const i of acknowledged) {
        const { text } = await again.post('fetch', { path: `p/${i}` })
        t.equal(text, `{"path":"p/${i}","type":"json","value":${i}}`)
      }
    })
  })
}

/** Starts a server with a request whose body never comes, so that its drain has to wait. */
async function startBusy(t: Test, options: StartOptions): Promise<Server> {
  const server = await startServer(t, options)
  const connection = await server.raw()
  await connection.write(
    `POST /topics/add HTTP/1.1\r\nhost: x\r\nauthorization: Apikey ${server.token}\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{`,
  )
  return server
}

t.test('a second signal ends the service at once', async (t) => {
  const server = await startBusy(t, { exitCode: undefined })
  server.signal('SIGTERM')
  await server.logged('stopping')
  // A signal within a second of the first is ignored.
  await new Promise((resolve) => setTimeout(resolve, 1100))
  server.signal('SIGTERM')
  t.strictSame(await server.exited, { code: 130, signal: null })
})

t.test('signals within a second of the first, as GNU timeout sends them, are ignored', async (t) => {
  const server = await startBusy(t, { flags: ['--drain-ms', '2000'] })
  server.signal('SIGTERM')
  await server.logged('stopping')
  for (let i = 0; i < 5; i++) server.signal(i % 2 === 0 ? 'SIGTERM' : 'SIGINT')
  t.strictSame(await server.exited, { code: 0, signal: null })
  t.ok(
    server.log.some(({ msg }) => msg === 'stopped'),
    'it drained to the end',
  )
})

/** So many workers in a row that die by themselves before they serve end the service. */
const deathsMin = failedStartsMax + 1

t.test(
  'workers that are killed from outside are replaced, however many and however soon',
  { timeout: 600_000, buffered: true },
  async (t) => {
    const server = await startServer(t)
    const killed = new Set<number>()
    for (const deaths = deathsMin + 1; killed.size < deaths; ) {
      const pid = await until('a worker', async () => server.workerPids().find((pid) => !killed.has(pid)), 60_000)
      const mayServe = killed.size === 0 || killed.size % 2 === 1
      if (mayServe) await until('it serves', async () => (await readiness(server)) === 200 || undefined, 60_000)
      killed.add(pid)
      process.kill(pid, 'SIGKILL')
    }
    // A connection may still reach the one that was killed last.
    const post = (): Promise<number> =>
      server
        .connect()
        .post('add', { path: 'a' })
        .then(
          ({ status }) => status,
          () => 0,
        )
    await until('requests are answered again', async () => ((await post()) === 200 ? true : undefined), 60_000)
  },
)

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

t.test('if workers die before they serve, again and again', { timeout: 600_000, buffered: true }, async (t) => {
  const directory = t.testdir()
  const program = patchedProgram(join(directory, 'program'), 'http/server.js', refusingToServe)
  t.jobs = 2

  void t.test(
    'the service goes on while another one serves, and says that it is not ready',
    { buffered: true },
    async (t) => {
      const refusal = join(directory, 'one')
      const server = await startServer(t, { workers: 2, program, env: { REFUSE_TO_SERVE: refusal } })
      writeFileSync(refusal, '')
      process.kill(first(server.workerPids()), 'SIGKILL')
      const failures = (): number => server.timesLogged('worker failed to start')
      await until('twelve starts failed', async () => (failures() >= 12 ? true : undefined), 120_000)
      t.equal((await server.connect().post('add', { path: 'a' })).status, 200)
      t.match((await get(`${server.adminUrl}/readyz`)).text, '1 of 2 workers serve')
      t.match(
        server.log.find(({ msg }) => msg === 'worker failed to start'),
        { reason: 'told not to serve' },
      )
      rmSync(refusal)
      await until('ready again', async () => (await readiness(server)) === 200 || undefined)
    },
  )

  await t.test('the service ends and says why if no other serves', { buffered: true }, async (t) => {
    const refusal = join(directory, 'none')
    const server = await startServer(t, { program, env: { REFUSE_TO_SERVE: refusal }, exitCode: 12 })
    writeFileSync(refusal, '')
    process.kill(first(server.workerPids()), 'SIGKILL')
    await until('its end', async () => (server.running ? undefined : true), 120_000)
    t.strictSame(await server.exited, { code: 12, signal: null })
    t.match(server.output, '11 workers in a row died before they served')
  })
})
