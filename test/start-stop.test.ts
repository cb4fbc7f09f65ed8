/** Starting and stopping: what is refused at the start, what a signal does, and what happens when a worker dies. */
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { runCommand, startServer, until } from './support/server.js'

t.test('a second service on the same data directory is refused', async (t) => {
  const server = await startServer(t)
  const second = await runCommand(['serve', '--port', '0', '--admin-port', '0', '--data', server.dataDir])
  t.equal(second.code, 11)
  t.ok(second.stderr.includes(server.dataDir), second.stderr.trim())
  t.equal((await server.post('add', { path: 'a' })).status, 200, 'the first goes on')
})

t.test('a port in use is refused in a clear line, and no worker was forked', async (t) => {
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  t.teardown(() => taken.close())
  const { port } = taken.address() as { port: number }
  const { code, stderr, stdout } = await runCommand(['serve', '--port', String(port), '--admin-port', '0', '--data', join(t.testdir(), 'db')])
  t.equal(code, 10)
  t.match(stderr, new RegExp(`127\\.0\\.0\\.1:${port}`))
  t.notMatch(stdout, /"role":"worker"/)
})

t.test('the port of another topicd is refused too', async (t) => {
  const server = await startServer(t)
  const { code } = await runCommand(['serve', '--port', String(server.port), '--admin-port', '0', '--data', join(t.testdir(), 'other')])
  t.equal(code, 10)
})

for (const workers of [1, 3]) {
  t.test(`SIGTERM answers what is in flight and ends with 0, over ${workers} workers`, async (t) => {
    const server = await startServer(t, { workers })
    const clients = Array.from({ length: 32 }, () => server.connect())
    await Promise.all(clients.map((client, i) => client.post('add', { path: `warm/${i}` })))
    const inFlight = clients.map((client, i) => client.post('addAndSet', { path: `p/${i}`, value: i }))
    t.strictSame(await server.stop(), { code: 0, signal: null })
    const answers = await Promise.allSettled(inFlight)
    const acknowledged = answers.flatMap((answer, i) => (answer.status === 'fulfilled' && answer.value.status === 200 ? [i] : []))
    const again = await startServer(t, { dataDir: server.dataDir, token: server.token })
    for (const i of acknowledged) {
      const { text } = await again.post('fetch', { path: `p/${i}` })
      t.equal(text, `{"path":"p/${i}","type":"json","value":${i}}`)
    }
  })

  t.test(`a worker that is killed is replaced, over ${workers} workers`, async (t) => {
    const server = await startServer(t, { workers })
    await server.post('addAndSet', { path: 'kept', value: 1 })
    const [victim] = server.workerPids()
    process.kill(victim, 'SIGKILL')
    await server.logged('worker died', (line) => line.worker === victim)
    await server.logged('worker replaced')
    t.equal(server.workerPids().length, workers)
    const { text } = await server.connect().post('fetch', { path: 'kept' })
    t.equal(text, '{"path":"kept","type":"json","value":1}')
  })
}

t.test('a second signal ends everything at once', async (t) => {
  const server = await startServer(t, { exitCode: undefined })
  // A request whose body never comes keeps the drain waiting.
  const connection = await server.raw()
  await connection.write(
    `POST /topics/add HTTP/1.1\r\nhost: x\r\nauthorization: Apikey ${server.token}\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{`,
  )
  server.signal('SIGTERM')
  await server.logged('stopping')
  server.signal('SIGTERM')
  t.strictSame(await server.exited, { code: 130, signal: null })
})

t.test('after too many young deaths the service ends and says why', { timeout: 120_000 }, async (t) => {
  const server = await startServer(t, { exitCode: 12 })
  let ended = false
  void server.exited.then(() => (ended = true))
  const killed = new Set<number>()
  await until(
    'the service gives up',
    async () => {
      if (ended) return true
      for (const pid of server.running ? server.workerPids() : []) {
        if (killed.has(pid)) continue
        killed.add(pid)
        process.kill(pid, 'SIGKILL')
      }
      return undefined
    },
    100_000,
  )
  t.strictSame(await server.exited, { code: 12, signal: null })
  t.match(server.output, /workers died 11 times in a row/)
})
