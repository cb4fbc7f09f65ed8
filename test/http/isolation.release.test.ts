/**
 * A client that sends malformed, huge, slow or too many requests gets only its share: on a single worker, another client's small
 * fetches and writes are answered quickly during any attack.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { medianOf } from '../support/elements.js'
import { requestText } from '../support/service/raw.js'
import { type Server, startServer } from '../support/service/server.js'
import { upload } from '../support/service/upload.js'

/** Generous, because the machine may be busy: only a stalled worker takes this long. */
const slowestMsMax = 5000

const attackMs = 1000

/** Medians below this are not compared: they measure the noise of the machine. */
const medianMsMin = 1

/** Repeats `attack` while another client reads and writes, and asserts that client's longest wait. @returns the median, in ms */
async function beside(t: Test, server: Server, attack: () => Promise<unknown>): Promise<number> {
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
    if (status !== 200) t.fail(`the other client got ${status}: ${text}`)
    waitedMs.push(performance.now() - startMs)
  }
  await Promise.all(attacking)
  const slowestMs = Math.max(...waitedMs)
  t.ok(attacks > 0, `${attacks} attacks`)
  t.ok(slowestMs < slowestMsMax, `${waitedMs.length} requests, the slowest after ${slowestMs.toFixed(0)} ms`)
  return medianOf(waitedMs)
}

t.test('another client on the worker is served quickly during each attack', async (t) => {
  const server = await startServer(t)
  const { post } = server
  await post('addAndSet', { path: 'other', value: 0 })
  const line = (i: number) => `{"op":"addAndSet","path":"many/${i % 100}/${i}","value":"${'x'.repeat(1000)}"}\n`
  await upload(server, Array.from({ length: 5000 }, (_, i) => line(i)).join(''))
  const attacker = server.connect(4)

  const deepest = `{"path":"deep","value":${'['.repeat(1000)}${']'.repeat(1000)}}`
  for (const [title, attack] of [
    ['invalid JSON', () => attacker.post('set', '{"path":'.repeat(1000))],
    ['the largest bodies', () => attacker.post('addAndSet', { path: 'huge', value: 'x'.repeat(1_000_000) })],
    ['bodies that are too large', () => attacker.post('set', 'x'.repeat(3_000_000))],
    ['the deepest values', () => attacker.post('addAndSet', deepest)],
    ['the largest pages', () => attacker.post('fetch', { selector: '*many//', size: 1000 })],
    ['patterns without a match', () => attacker.post('fetch', { selector: '?.*/.*/.*(a+)+x', size: 1000 })],
    ['invalid patterns', () => attacker.post('fetch', { selector: `?${'('.repeat(90)}` })],
    ['unknown keys', () => attacker.post('fetch', { path: 'a' }, { token: 'unknown' })],
    [
      'bulk removals',
      async () => {
        await attacker.post('addAndSet', { path: 'bulk/a', value: 1 })
        await attacker.post('remove', { selector: '?bulk//' })
      },
    ],
    [
      'half a request, then silence',
      async () => {
        const connection = await server.raw()
        await connection.write(requestText('/topics/set', server.token, 'x'.repeat(1000)).slice(0, -500))
        await post('fetch', { path: 'other' })
        connection.close()
      },
    ],
  ] as const) {
    await t.test(`another client is served during ${title}`, async (t) => void (await beside(t, server, attack)))
  }

  await t.test('a key that floods beyond its rate hardly slows another key', async (t) => {
    const flooding = server.connect(4, await server.addKey('flooding', { rate: 10 }))
    const counts = { 200: 0, 429: 0 }
    const flood = async (): Promise<void> => {
      const { status } = await flooding.post('fetch', { path: 'other' })
      if (status !== 200 && status !== 429) t.fail(`the flooding key got ${status}`)
      else counts[status]++
      // Without a pause, the test would measure its own process.
      await sleep(2)
    }
    const alone = await beside(t, server, () => sleep(2))
    const flooded = await beside(t, server, flood)
    t.ok(counts[200] > 0 && counts[429] > 5 * counts[200], `${counts[429]} requests were rejected`)
    t.ok(flooded < 3 * Math.max(alone, medianMsMin), `median ${flooded.toFixed(3)} ms, ${alone.toFixed(3)} ms alone`)
  })
})
