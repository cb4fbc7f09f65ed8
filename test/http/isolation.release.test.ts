/**
 * A client that sends malformed, huge or slow requests gets only its share: on a single worker, another client's small
 * fetches and writes are answered soon, whatever the first one does.
 */
import t, { type Test } from 'tap'
import { requestText } from '../support/service/raw.js'
import { type Server, startServer } from '../support/service/server.js'

/** Generous, since the machine may be busy: only a worker that stalls takes this long. */
const slowestMsMax = 5000

const attackMs = 1000

/** Repeats `attack` while another client reads and writes, and asserts how long that client waited at most. */
async function beside(t: Test, server: Server, attack: () => Promise<unknown>): Promise<void> {
  const client = server.connect()
  const endMs = performance.now() + attackMs
  let attacks = 0
  const attacking = Array.from({ length: 4 }, async () => {
    while (performance.now() < endMs) {
      await attack()
      attacks++
    }
  })
  const waitedMs: number[] = []
  for (let i = 0; performance.now() < endMs; i++) {
    const startMs = performance.now()
    const { status, text } = await (i % 2 === 0
      ? client.post('fetch', { path: 'other' })
      : client.post('set', { path: 'other', value: i }))
    if (status !== 200) t.fail(`the other client was answered ${status}: ${text}`)
    waitedMs.push(performance.now() - startMs)
  }
  await Promise.all(attacking)
  const slowestMs = Math.max(...waitedMs)
  t.ok(attacks > 0, `${attacks} attacks`)
  t.ok(
    slowestMs < slowestMsMax,
    `${waitedMs.length} requests of the other client, the slowest after ${slowestMs.toFixed(0)} ms`,
  )
}

t.test('on one worker, another client is answered soon beside each attack', async (t) => {
  const server = await startServer(t)
  const { post } = server
  await post('addAndSet', { path: 'other', value: 0 })
  await Promise.all(
    Array.from({ length: 100 }, async (_, i) => {
      const client = server.connect()
      for (let j = 0; j < 50; j++) await client.post('addAndSet', { path: `many/${i}/${j}`, value: 'x'.repeat(1000) })
    }),
  )
  const attacker = server.connect(4)

  await t.test('invalid JSON', (t) => beside(t, server, () => attacker.post('set', '{"path":'.repeat(1000))))
  await t.test('the largest bodies', (t) =>
    beside(t, server, () => attacker.post('addAndSet', { path: 'huge', value: 'x'.repeat(1_000_000) })),
  )
  await t.test('bodies that are too large', (t) => beside(t, server, () => attacker.post('set', 'x'.repeat(3_000_000))))
  await t.test('the deepest values', (t) =>
    beside(t, server, () =>
      attacker.post('addAndSet', `{"path":"deep","value":${'['.repeat(1000)}${']'.repeat(1000)}}`),
    ),
  )
  await t.test('the largest pages', (t) =>
    beside(t, server, () => attacker.post('fetch', { selector: '*many//', size: 1000 })),
  )
  await t.test('patterns that match nothing, over everything', (t) =>
    beside(t, server, () => attacker.post('fetch', { selector: '?.*/.*/.*(a+)+x', size: 1000 })),
  )
  await t.test('invalid patterns', (t) =>
    beside(t, server, () => attacker.post('fetch', { selector: `?${'('.repeat(90)}` })),
  )
  await t.test('bulk removals', (t) =>
    beside(t, server, async () => {
      await attacker.post('addAndSet', { path: 'bulk/a', value: 1 })
      await attacker.post('remove', { selector: '?bulk//' })
    }),
  )
  await t.test('unknown keys', (t) =>
    beside(t, server, () => attacker.post('fetch', { path: 'a' }, { token: 'unknown' })),
  )
  await t.test('half a request, then silence', (t) =>
    beside(t, server, async () => {
      const connection = await server.raw()
      await connection.write(requestText('/topics/set', server.token, 'x'.repeat(1000)).slice(0, -500))
      await post('fetch', { path: 'other' })
      connection.close()
    }),
  )
})
