/**
 * A commit that fails is never answered 200: the write is answered 500, the worker logs the failure once and ends with
 * an exit code of its own, and another worker replaces it. Earlier acknowledged writes are kept. A commit that does not
 * return ends its worker too, at a deadline.
 */

import { readFileSync } from 'node:fs'
import t from 'tap'
import { first } from '../support/elements.js'
import { Strace, whyNoStrace } from '../support/faults/strace.js'
import { scrape } from '../support/service/metrics.js'
import { type Server, startServer, until } from '../support/service/server.js'

const exitCommitFailed = 20

/** How many lines of the server's log have this message. */
const count = (server: Server, msg: string): number => server.log.filter((line) => line.msg === msg).length

for (const workers of [1, 3]) {
  t.test(
    `a failed commit is answered 500 and its worker is replaced: over ${workers} ${workers === 1 ? 'worker' : 'workers'}`,
    { skip: whyNoStrace() },
    async (t) => {
      const server = await startServer(t, { workers })
      await server.post('addAndSet', { path: 'kept', value: 1 })
      const killed = first(server.workerPids())
      await Strace.attach(t, killed, 'fdatasync:error=EIO')

      // The kernel chooses the worker of each connection, so one of many meets that worker.
      const answers = await until('the failing worker is met', async () => {
        const attempts = Array.from({ length: 4 * workers }, () =>
          server.connect().post('set', { path: 'kept', value: 2 }),
        )
        const answers = await Promise.all(attempts)
        return answers.some(({ status }) => status !== 200) ? answers : undefined
      })
      for (const answer of answers.filter(({ status }) => status !== 200)) {
        t.match(answer, { status: 500, code: 'commit_failed' }, 'its writes are answered 500')
      }
      const died = await server.logged('worker died')
      t.match(died, { worker: killed, code: exitCommitFailed }, 'it ends with its own exit code')
      await server.logged('worker replaced')
      t.equal(count(server, 'commit failed; this worker ends'), 1, 'that is logged once')
      t.equal(count(server, 'worker died'), 1, 'no other worker dies')
      const failed = (await scrape(server.adminUrl)).value('topicd_writes_failed_total')
      t.ok(failed >= 1, `the failed writes are still counted when it has ended: ${failed}`)

      t.equal((await server.connect().post('set', { path: 'kept', value: 3 })).status, 200, 'writes succeed again')
      const { text } = await server.connect().post('fetch', { path: 'kept' })
      t.equal(text, '{"path":"kept","type":"json","value":3}', 'and are visible')
    },
  )
}

t.test(
  'a write that fails is not answered 200, and leaves its topic with the old or the new value',
  { skip: whyNoStrace() },
  async (t) => {
    const server = await startServer(t)
    for (let i = 0; i < 50; i++) await server.post('addAndSet', { path: `kept/${i}`, value: i })
    const pid = first(server.workerPids())
    await Strace.attach(t, pid, 'fdatasync:error=EIO')
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        server
          .connect()
          .post('set', { path: `kept/${i}`, value: 'new' })
          .catch(() => ({ status: 0 })),
      ),
    )
    t.ok(
      answers.every(({ status }) => status === 500 || status === 0),
      'none of the failed writes is answered 200',
    )
    await server.logged('worker replaced')
    const client = server.connect()
    for (let i = 0; i < 50; i++) {
      const { value } = JSON.parse((await client.post('fetch', { path: `kept/${i}` })).text) as { value: unknown }
      if (value !== i && value !== 'new') t.fail(`kept/${i} is ${String(value)}`)
    }
    t.equal(count(server, 'commit failed; this worker ends'), 1, 'fifty failures are one line in the log')
  },
)

t.test('a commit that does not return ends its worker at the deadline', { skip: whyNoStrace() }, async (t) => {
  const server = await startServer(t)
  await server.post('addAndSet', { path: 'kept', value: 1 })
  const killed = first(server.workerPids())
  const strace = await Strace.attach(t, killed, 'fdatasync:delay_enter=60s')
  const startMs = performance.now()
  const answered = server
    .connect()
    .post('set', { path: 'kept', value: 2 })
    .then(
      ({ status }) => status,
      () => 0,
    )
  const read = await server.post('fetch', { path: 'kept' })
  t.match(read, { status: 200, text: /"value":1/ }, 'meanwhile reads are answered')
  await server.logged('commit failed; this worker ends')
  t.ok(performance.now() - startMs < 30_000, 'its worker gives up at the deadline')
  t.not(await answered, 200, 'the write is not acknowledged')
  // Its exit waits for the thread that commits, so the worker is killed; it stays a zombie while strace is attached.
  await until('it is killed', async () => / Z /.test(readFileSync(`/proc/${killed}/stat`, 'latin1')) || undefined)
  await strace.detach()
  t.match(await server.logged('worker died'), { signal: 'SIGKILL' }, 'it is killed, since its exit waits for the disk')
  await server.logged('worker replaced')
  t.equal((await server.connect().post('set', { path: 'kept', value: 3 })).status, 200, 'writes succeed again')
})
