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

/** When the topic was first found gone, on performance.now(). */
async function goneAt({ post }: Server, path: string): Promise<number> {
  return until(`${path} gone`, async () => {
    const { code } = await post('fetch', { path })
    return code === 'no_such_topic' ? performance.now() : undefined
  })
}

function inTime(t: Test, sentMs: number, answeredMs: number, goneMs: number, what: string): void {
  t.ok(goneMs - sentMs >= quietMs, `${what}: not early, ${Math.round(goneMs - sentMs)} ms after its last set was sent`)
  t.ok(
    goneMs - answeredMs <= quietMs + lateMsMax,
    `${what}: not late, ${Math.round(goneMs - answeredMs)} ms after it was answered`,
  )
}

const dataDir = `${t.testdir()}/db`
const server = await startServer(t, { workers: 2, dataDir })
const { post } = server

await t.test('a topic is gone between 2 and 7 seconds after its last set', async (t) => {
  await post('add', { path: 'kept' })
  const cases = [
    { path: 'set', properties },
    { path: 'unkept', properties: { ...properties, DONT_RETAIN_VALUE: 'true' } },
  ]
  await Promise.all(
    cases.map(async ({ path, properties }) => {
      await post('addAndSet', { path, value: 1, properties })
      let sentMs = 0
      // Sets the same value for longer than the topic would exist without updates.
      for (const end = performance.now() + 1.5 * quietMs; performance.now() < end; ) {
        await new Promise((resolve) => setTimeout(resolve, quietMs / 4))
        sentMs = performance.now()
        t.match(await post('set', { path, value: 1 }), { status: 200 }, `${path} is there`)
      }
      const answeredMs = performance.now()
      inTime(t, sentMs, answeredMs, await goneAt(server, path), path)
    }),
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
  await goneAt(server, 'group/a')
  for (const path of ['group/b', 'guard']) t.match(await post('fetch', { path }), { status: 200 }, `${path} stays`)
})

await t.test('automatic removal continues after the writer, which removes, and every worker have died', async (t) => {
  const sentMs = performance.now()
  await post('addAndSet', { path: 'orphan', value: 1, properties })
  for (const pid of [present(server.writerPid()), ...server.workerPids()]) process.kill(pid, 'SIGKILL')
  await server.logged('writer replaced')
  const replaced = () => server.timesLogged('worker replaced')
  await until('both workers replaced', async () => (replaced() === 2 ? true : undefined))
  const replacedMs = performance.now()
  const goneMs = await goneAt(server, 'orphan')
  t.ok(goneMs - sentMs >= quietMs, 'not early')
  t.ok(goneMs - replacedMs <= quietMs + lateMsMax, `${Math.round(goneMs - replacedMs)} ms after all were replaced`)
})

await t.test('a topic that came due while the service was down is gone soon after it is up again', async (t) => {
  await post('addAndSet', { path: 'down', value: 1, properties })
  await post('addAndSet', { path: 'later', value: 1, properties: { REMOVAL: 'when no updates for 1h' } })
  await server.stop('SIGTERM')
  await new Promise((resolve) => setTimeout(resolve, quietMs))
  const again = await startServer(t, { workers: 2, dataDir, token: server.token })
  const upMs = performance.now()
  const goneMs = await goneAt(again, 'down')
  t.ok(goneMs - upMs <= lateMsMax, `${Math.round(goneMs - upMs)} ms after it was up`)
  t.match(await again.post('fetch', { path: 'later' }), { status: 200 })
})
