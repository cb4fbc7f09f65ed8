/**
 * The configured number of workers runs, regardless of events while workers start, are replaced or drain. A draining worker always answers
 * its requests in flight.
 */

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { at, first } from '../support/elements.js'
import { patchedProgram } from '../support/faults/patched.js'
import { ChangesStream } from '../support/service/changes.js'
import { get } from '../support/service/metrics.js'
import { Server, startServer, until } from '../support/service/server.js'

t.setTimeout(600_000)

/** Resolves once the service is ready with this many workers. */
async function settles(t: Test, server: Server, workers: number): Promise<void> {
  await until('the service is ready', async () =>
    (await get(`${server.adminUrl}/readyz`)).status === 200 ? true : undefined,
  )
  await until(`${workers} workers live`, async () => (server.workerPids().length === workers ? true : undefined))
  const { text } = await get(`${server.adminUrl}/metrics`)
  t.match(text, new RegExp(`^topicd_workers ${workers}$`, 'm'))
}

/** Starts a request that is in flight until `finish` sends the rest of its body. */
async function startRequest(server: Server, path: string): Promise<{ finish(): Promise<string | undefined> }> {
  const body = JSON.stringify({ path })
  const connection = await server.raw()
  const head = `POST /topics/add HTTP/1.1\r\nhost: x\r\nauthorization: Apikey ${server.token}\r\ncontent-type: application/json\r\n`
  await connection.write(`${head}content-length: ${body.length}\r\n\r\n${body.slice(0, 1)}`)
  return {
    async finish() {
      await connection.write(body.slice(1))
      return (await connection.answer())?.body
    },
  }
}

t.test('a reload while the service starts leaves the correct number of workers', async (t) => {
  const server = new Server(t, join(t.testdir(), 'db'), { workers: 2 })
  t.teardown(() => server.tearDown())
  await until('the first worker is started', async () => (server.workerPids().length > 0 ? true : undefined))
  server.signal('SIGHUP')
  await server.listening()
  await server.logged('rolling restart done')
  await settles(t, server, 2)
})

t.test('a worker killed during a reload is replaced', async (t) => {
  const server = await startServer(t, { workers: 2 })
  const before = server.workerPids()
  server.signal('SIGHUP')
  await server.logged('rolling restart')
  process.kill(at(before, 1), 'SIGKILL')
  await until(
    'the restart is over',
    async () => server.timesLogged('rolling restart done') + server.timesLogged('rolling restart failed') || undefined,
  )
  await settles(t, server, 2)
})

/** Workers that exit soon after they start to serve, while a file exists. */
const endingSoon = `import { existsSync } from 'node:fs'
import { startHttpServer as startSoundServer } from './sound-server.js'
export async function startHttpServer(...args) {
  const server = await startSoundServer(...args)
  if (existsSync(process.env.END_SOON)) setTimeout(() => process.kill(process.pid, 'SIGKILL'), 200)
  return server
}
`

t.test('a reload fails if its new worker exits early, and the old workers keep serving', async (t) => {
  const soon = join(t.testdir(), 'soon')
  const program = patchedProgram(join(t.testdirName, 'program'), 'http/server.js', endingSoon)
  const server = await startServer(t, {
    workers: 2,
    program,
    env: { END_SOON: soon },
    dataDir: join(t.testdirName, 'db'),
  })
  const before = server.workerPids()
  writeFileSync(soon, '')
  server.signal('SIGHUP')
  const { reason } = await server.logged('rolling restart failed')
  t.match(reason, /^process \d+ exited \(SIGKILL\) soon after it started to serve$/)
  await settles(t, server, 2)
  t.strictSame(server.workerPids().sort(), before.sort(), 'the same workers as before')
  rmSync(soon)
  server.signal('SIGHUP')
  await server.logged('rolling restart done')
  const { text } = await get(`${server.adminUrl}/metrics`)
  t.match(text, /^topicd_worker_restarts_total 0$/m, 'no worker replaced a dead one')
})

t.test('a draining worker answers its requests even if the service is stopped during the reload', async (t) => {
  const server = await startServer(t, { workers: 2 })
  const held = await Promise.all(Array.from({ length: 12 }, (_, i) => startRequest(server, `held/${i}`)))
  const streams = await Promise.all(Array.from({ length: 12 }, () => ChangesStream.open(server, { path: 'a' })))
  server.signal('SIGHUP')
  // The first of the old workers drains: it has ended its streams, and waits for its requests in flight.
  await until('a worker drains', async () => streams.some(({ isEnded }) => isEnded) || undefined)
  server.signal('SIGTERM')
  await server.logged('stopping')
  const answers = await Promise.all(held.map(({ finish }) => finish()))
  for (const [i, answer] of answers.entries()) t.equal(answer, `{"path":"held/${i}","created":true}`)
  t.strictSame(await server.exited, { code: 0, signal: null })
})

t.test('a stop of the service waits for a worker that was killed during a reload', async (t) => {
  const server = await startServer(t, { workers: 1, flags: ['--drain-ms', '5000'] })
  await startRequest(server, 'held')
  const leaving = first(server.workerPids())
  server.signal('SIGHUP')
  await until('a new worker is started', async () => (server.workerPids().length === 2 ? true : undefined))
  process.kill(leaving, 'SIGSTOP')
  process.kill(leaving, 'SIGKILL')
  t.strictSame(await server.stop(), { code: 0, signal: null })
  t.throws(() => readFileSync(`/proc/${leaving}/stat`), { code: 'ENOENT' }, 'the process of the worker is gone')
})

t.test('a reload starts or stops workers to match the settings', async (t) => {
  const settings = join(t.testdir(), 'topicd.env')
  writeFileSync(settings, 'TOPICD_WORKERS=1\n')
  const server = await startServer(t, {
    workersFlag: false,
    dataDir: join(t.testdirName, 'db'),
    flags: ['--settings', settings],
  })
  for (const [round, workers] of [4, 2, 1, 3].entries()) {
    writeFileSync(settings, `TOPICD_WORKERS=${workers}\n`)
    server.signal('SIGHUP')
    await until('the restart is over', async () =>
      server.timesLogged('rolling restart done') > round ? true : undefined,
    )
    await settles(t, server, workers)
  }
})
