/**
 * Automatic removal as a client sees it: a topic is gone within five seconds of its due time, across restarts too, and
 * never before it. topics/removal-policy tests the conditions, store/removal-clock unusual clocks.
 */
import t, { type Test } from 'tap'
import { present } from '../support/elements.js'
import { type Server, startServer, until } from '../support/service/server.js'

const quietMs = 2000
const lateMsMax = 5000
const properties = { REMOVAL: 'when no updates for 2s' }

async function gone({ post }: Server, path: string): Promise<void> {
  await until(`${path} gone`, async () => (await post('fetch', { path })).code === 'no_such_topic' || undefined)
}

/** Waits until the topic is gone: not earlier than it is due after its last update was sent. */
async function goneNotEarly(t: Test, server: Server, path: string, sentMs: number): Promise<void> {
  await gone(server, path)
  const tookMs = performance.now() - sentMs
  t.ok(tookMs >= quietMs, `${path}: not early, ${Math.round(tookMs)} ms after its last update was sent`)
}

const dataDir = `${t.testdir()}/db`
const server = await startServer(t, { workers: 2, dataDir })
const { post } = server

await t.test('a topic is removed within 5 seconds after it is due, not earlier', async (t) => {
  await post('add', { path: 'kept' })
  const cases = [
    { path: 'set', value: 1, properties },
    { path: 'unkept', value: 1, properties: { ...properties, DONT_RETAIN_VALUE: 'true' } },
  ]
  await Promise.all(
    cases.map((topic) =>
      // Once is enough: the machine may be busy.
      until(`${topic.path} is gone in time`, async () => {
        await post('addAndSet', topic)
        const addedMs = performance.now()
        await until('half of its time', async () => performance.now() - addedMs > quietMs / 2 || undefined)
        const sentMs = performance.now()
        await post('addAndSet', topic)
        const answeredMs = performance.now()
        await goneNotEarly(t, server, topic.path, sentMs)
        return performance.now() - answeredMs <= quietMs + lateMsMax || undefined
      }),
    ),
  )
  t.match(await post('fetch', { path: 'kept' }), { status: 200 }, 'others stay')
})

await t.test('a clause removes what its selector matches', async (t) => {
  await post('addAndSet', { path: 'group/a', value: 1 })
  await post('addAndSet', { path: 'group/b', value: 1 })
  await post('addAndSet', {
    path: 'guard',
    value: 1,
    properties: { REMOVAL: "when no updates for 1s remove '?group/[a]'" },
  })
  await gone(server, 'group/a')
  for (const path of ['group/b', 'guard']) t.match(await post('fetch', { path }), { status: 200 }, `${path} stays`)
})

await t.test('automatic removal continues after the deaths of the writer and all workers', async (t) => {
  const sentMs = performance.now()
  await post('addAndSet', { path: 'orphan', value: 1, properties })
  for (const pid of [present(server.writerPid()), ...server.workerPids()]) process.kill(pid, 'SIGKILL')
  await server.logged('writer replaced')
  const replaced = () => server.timesLogged('worker replaced')
  await until('both workers replaced', async () => (replaced() === 2 ? true : undefined))
  await goneNotEarly(t, server, 'orphan', sentMs)
})

await t.test('a topic that is due while the service is down is removed after it starts', async (t) => {
  await post('addAndSet', { path: 'down', value: 1, properties })
  await post('addAndSet', { path: 'later', value: 1, properties: { REMOVAL: 'when no updates for 1h' } })
  const addedMs = performance.now()
  await server.stop('SIGTERM')
  await until('it is due', async () => performance.now() - addedMs > quietMs || undefined)
  const again = await startServer(t, { workers: 2, dataDir, token: server.token })
  await gone(again, 'down')
  t.match(await again.post('fetch', { path: 'later' }), { status: 200 })
})
