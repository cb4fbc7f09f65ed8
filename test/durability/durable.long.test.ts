/**
 * A write is answered 200 only after its data is on disk, and no request sees it earlier. With fdatasync slowed down, both the response and
 * the visibility wait for the disk.
 */
import t from 'tap'
import { Strace, whyNoStrace } from '../support/faults/strace.js'
import { startServer, until } from '../support/service/server.js'

const slowMs = 800

t.test('a write is answered and visible only once it is on disk', { skip: whyNoStrace() }, async (t) => {
  const server = await startServer(t, { workers: 3 })
  await server.post('addAndSet', { path: 'durable', value: 'old' })
  const writer = await until('the writer runs', async () => server.writerPid())
  await Strace.attach(t, writer, `fdatasync:delay_enter=${slowMs}ms`)

  for (const [route, value] of [
    ['set', 'first'],
    ['addAndSet', 'second'],
  ] as const) {
    const before = (await server.post('fetch', { path: 'durable' })).text
    const startMs = performance.now()
    let answeredMs = Infinity
    const written = server
      .connect()
      .post(route, { path: 'durable', value })
      .then((answer) => {
        answeredMs = performance.now() - startMs
        return answer
      })
    let reads = 0
    while (performance.now() - startMs < slowMs - 100) {
      const { text } = await server.post('fetch', { path: 'durable' })
      if (performance.now() - startMs >= slowMs) break
      reads++
      if (text !== before) t.fail(`${route}: a read saw ${text} before it was on disk`)
    }
    t.ok(reads > 0, `${route}: ${reads} reads in the meantime saw the old value`)
    t.equal((await written).status, 200, `${route}: the write is answered`)
    t.ok(
      answeredMs >= slowMs,
      `${route}: the write was answered only after it was on disk: ${answeredMs.toFixed(0)} ms`,
    )
    const { text } = await server.post('fetch', { path: 'durable' })
    t.equal(text, `{"path":"durable","type":"json","value":"${value}"}`, `${route}: the value is visible afterwards`)
  }

  const startMs = performance.now()
  t.equal((await server.post('remove', { path: 'durable' })).status, 200, 'a removal is answered')
  t.ok(performance.now() - startMs >= slowMs, 'a removal is answered only after it is on disk')
})
