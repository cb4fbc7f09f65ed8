/**
 * A 200 to a write comes after its data is on disk, and nobody sees the write before that: with fdatasync slowed down, both
 * the answer and the visibility wait for it.
 */
import t from 'tap'
import { startServer } from '../support/server.js'
import { Strace, whyNoStrace } from '../support/strace.js'

const slowMs = 800

for (const workers of [1, 3]) {
  const name = `a write is answered, and seen, after the disk has it: over ${workers} ${workers === 1 ? 'worker' : 'workers'}`
  t.test(name, { skip: whyNoStrace() }, async (t) => {
    const server = await startServer(t, { workers })
    await server.post('addAndSet', { path: 'durable', value: 'old' })
    for (const pid of server.workerPids()) await Strace.attach(t, pid, `fdatasync:delay_enter=${slowMs}ms`)

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
      t.ok(reads > 0, `${route}: ${reads} reads meanwhile saw what was before`)
      t.equal((await written).status, 200, `${route}: it is answered in the end`)
      t.ok(answeredMs >= slowMs, `${route}: it was answered after the disk had it: ${answeredMs.toFixed(0)} ms`)
      const { text } = await server.post('fetch', { path: 'durable' })
      t.equal(text, `{"path":"durable","type":"json","value":"${value}"}`, `${route}: from then on it is seen`)
    }

    const startMs = performance.now()
    t.equal((await server.post('remove', { path: 'durable' })).status, 200, 'a removal is answered')
    t.ok(performance.now() - startMs >= slowMs, 'a removal too is answered after the disk has it')
  })
}
