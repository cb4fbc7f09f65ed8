/**
 * Automatic removal as a client sees it: a topic is gone within five seconds of its due time, also across restarts, and never
 * before. topics/removal-policy tests the conditions, store/removal-clock unusual clocks.
 */
import t, { type Test } from 'tap'
import { present } from '../support/elements.js'
import { type Server, startServer, until } from '../support/service/server.js'
import { eachKind } from '../support/stores/stores.js'

const quietMs = 2000
const lateMsMax = 5000
const properties = { REMOVAL: 'when no updates for 2s' }

async function gone({ post }: Server, path: string): Promise<void> {
  await until(`${path} is gone`, async () => (await post('fetch', { path })).code === 'no_such_topic' || undefined)
}

interface Updated {
  /** Times of performance.now(): before the update was sent, and after its response. */
  readonly sentMs: number
  readonly answeredMs: number
}

async function update({ post }: Server, topic: object): Promise<Updated> {
  const sentMs = performance.now()
  await post('addAndSet', topic)
  return { sentMs, answeredMs: performance.now() }
}

/** Longest normal time between two polls; the excess on a busy machine does not count as lateness. */
const pollMsMax = 100

/** Waits until the topic is gone: not before it is due, and in time after that or, if the service was down, after `upMs`. */
async function goneInTime(t: Test, { post }: Server, path: string, updated: Updated, upMs = 0): Promise<void> {
  let busyMs = 0
  let nowMs = performance.now()
  await until(`${path} is gone`, async () => {
    const { code } = await post('fetch', { path })
    const pollMs = performance.now() - nowMs
    nowMs += pollMs
    busyMs += Math.max(0, pollMs - pollMsMax)
    return code === 'no_such_topic' || undefined
  })
  const tookMs = nowMs - updated.sentMs
  t.ok(tookMs >= quietMs, `${path}: not early, ${Math.round(tookMs)} ms after its last update was sent`)
  const lateMs = nowMs - Math.max(updated.answeredMs + quietMs, upMs) - busyMs
  t.ok(lateMs <= lateMsMax, `${path}: in time, ${Math.round(lateMs)} ms late, without ${Math.round(busyMs)} ms of load`)
}

const dataDir = `${t.testdir()}/db`
const server = await startServer(t, { workers: 2, dataDir })
const { post } = server

await t.test('a topic is removed within 5 seconds after its due time, and not earlier', async (t) => {
  await post('add', { path: 'kept' })
  const cases = [
    { path: 'set', value: 1, properties },
    { path: 'unkept', value: 1, properties: { ...properties, DONT_RETAIN_VALUE: 'true' } },
  ]
  await Promise.all(
    cases.map(async (topic) => {
      const { answeredMs } = await update(server, topic)
      await until('the time passes', async () => performance.now() - answeredMs > quietMs / 2 || undefined)
      await goneInTime(t, server, topic.path, await update(server, topic))
    }),
  )
  t.match(await post('fetch', { path: 'kept' }), { status: 200 }, 'other topics stay')
})

await t.test('a remove clause removes the topics that its selector matches', async (t) => {
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

await t.test('automatic removal continues after the writer and all workers are killed', (t) =>
  eachKind(t, async (t, kind, makeStore) => {
    const server = await startServer(t, { workers: 2, store: await makeStore() })
    const updated = await update(server, { path: 'orphan', value: 1, properties })
    // On PostgreSQL, one of the workers has the lease of removals.
    const writers = kind === 'lmdb' ? [present(server.writerPid())] : []
    for (const pid of [...writers, ...server.workerPids()]) process.kill(pid, 'SIGKILL')
    if (kind === 'lmdb') await server.logged('writer replaced')
    await until('both workers have been replaced', async () => server.timesLogged('worker replaced') === 2 || undefined)
    await goneInTime(t, server, 'orphan', updated, performance.now())
  }),
)

await t.test('a topic that becomes due while the service is down is removed after the next start', async (t) => {
  await post('addAndSet', { path: 'later', value: 1, properties: { REMOVAL: 'when no updates for 1h' } })
  const updated = await update(server, { path: 'down', value: 1, properties })
  await server.stop('SIGTERM')
  await until('the topic is due', async () => performance.now() - updated.answeredMs > quietMs || undefined)
  const again = await startServer(t, { workers: 2, dataDir, token: server.token })
  await goneInTime(t, again, 'down', updated, performance.now())
  t.match(await again.post('fetch', { path: 'later' }), { status: 200 })
})
