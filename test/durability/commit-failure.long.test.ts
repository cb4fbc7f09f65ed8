/**
 * A failed commit is never answered 200. The writer logs the failure once and exits with its own exit code, and the next writer executes
 * the uncommitted requests. If every writer fails, the client learns that the outcome is unknown. A writer whose commit does not return is
 * killed, while reads continue.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { writerSendsMax } from '../../dist/store/writer/session.js'
import { patchedProgram } from '../support/faults/patched.js'
import { Strace, whyNoStrace } from '../support/faults/strace.js'
import { scrape } from '../support/service/metrics.js'
import { type Server, startServer, until } from '../support/service/server.js'

const exitCommitFailed = 20

const writerOf = (server: Server): Promise<number> => until('a writer runs', async () => server.writerPid())

t.test('the next writer commits the writes that a writer failed to commit', { skip: whyNoStrace() }, async (t) => {
  const server = await startServer(t, { workers: 3 })
  for (let i = 0; i < 50; i++) await server.post('addAndSet', { path: `kept/${i}`, value: i })
  const failing = await writerOf(server)
  await Strace.attach(t, failing, 'fdatasync:error=EIO')
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      server.connect().post('set', { path: `kept/${i}`, value: 'new', constraint: { value: i } }),
    ),
  )
  t.ok(
    answers.every(({ status }) => status === 200),
    'every write is executed once',
  )
  const died = await server.logged('writer died')
  t.match(died, { writer: failing, how: exitCommitFailed }, 'the writer exits with its own exit code')
  await server.logged('writer replaced')
  t.equal(server.timesLogged('commit failed; the writer exits'), 1, 'fifty failures are one line in the log')
  t.equal(server.timesLogged('writer died'), 1, 'no other writer dies')
  t.equal(server.timesLogged('worker died'), 0, 'no worker exits')
  const failed = (await scrape(server.adminUrl)).value('topicd_writes_failed_total')
  t.ok(failed >= 1, `failed writes stay counted after the writer has exited: ${failed}`)
  const client = server.connect()
  for (let i = 0; i < 50; i++) {
    const { text } = await client.post('fetch', { path: `kept/${i}` })
    if (!text.includes('"value":"new"')) t.fail(text)
  }
})

/** Commits and then fails as if it had not committed, while the data directory has a file `failing`. */
const failingAfterCommit = `
export * from './sound-environment.js'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { openEnvironment as openSound } from './sound-environment.js'
export function openEnvironment(directory, ...rest) {
  const environment = openSound(directory, ...rest)
  let isFirst = true
  return {
    ...environment,
    transact(callback) {
      environment.transact(callback)
      if (!isFirst && existsSync(join(directory, 'failing'))) throw new Error('planted')
      isFirst = false
    },
  }
}
`

t.test('a write is answered as executed if its writer fails after the commit', async (t) => {
  const program = patchedProgram(
    join(t.testdir(), 'program'),
    'store/lmdb/environment/environment.js',
    failingAfterCommit,
  )
  const server = await startServer(t, { program, dataDir: join(t.testdirName, 'db') })
  writeFileSync(join(server.dataDir, 'failing'), '')
  const created = await server.post('addAndSet', { path: 'created', value: 1 })
  t.equal(
    created.text,
    '{"path":"created","created":true}',
    'the next writer knows from the receipt that it was created',
  )
  t.equal((await server.post('remove', { path: 'created' })).text, '{"removed":1}')
  t.ok(server.timesLogged('writer died') >= 2, 'each of the two writes was the last of its writer')
  rmSync(join(server.dataDir, 'failing'))
})

/** Fails without a commit, while the data directory has a file `failing`. */
const failingBeforeCommit = failingAfterCommit
  .replace('environment.transact(callback)\n', '')
  .replace('isFirst = false', 'isFirst = false\n      environment.transact(callback)')

t.test('a write that every writer fails to commit has an unknown outcome', async (t) => {
  const program = patchedProgram(
    join(t.testdir(), 'program'),
    'store/lmdb/environment/environment.js',
    failingBeforeCommit,
  )
  const server = await startServer(t, { program, dataDir: join(t.testdirName, 'db') })
  await server.post('addAndSet', { path: 'kept', value: 1 })
  writeFileSync(join(server.dataDir, 'failing'), '')
  t.match(await server.post('set', { path: 'kept', value: 2 }), { status: 503, code: 'unknown_outcome' })
  t.equal(server.timesLogged('writer died'), writerSendsMax, 'the request was sent to the maximum number of writers')
  t.match(await server.post('fetch', { path: 'kept' }), { status: 200, text: /"value":1/ }, 'reads are answered')
  rmSync(join(server.dataDir, 'failing'))
  t.equal((await server.post('set', { path: 'kept', value: 3 })).status, 200, 'writes succeed again')
})

t.test('a writer whose commit does not return is killed, and reads continue', { skip: whyNoStrace() }, async (t) => {
  const server = await startServer(t)
  await server.post('addAndSet', { path: 'kept', value: 1 })
  const killed = await writerOf(server)
  const strace = await Strace.attach(t, killed, 'fdatasync:delay_enter=60s')
  const written = server.connect().post('set', { path: 'kept', value: 2 })
  const read = await server.post('fetch', { path: 'kept' })
  t.match(read, { status: 200, text: /"value":1/ }, 'reads are answered in the meantime')
  const { reason } = await server.logged('process killed', ({ child }) => child === killed)
  t.match(reason, /^it or its disk was unresponsive, and it had sent nothing for \d+ ms$/)
  // The killed writer does not exit while strace is attached, so no other writer may open the store.
  t.match(await written, { status: 503, code: 'unknown_outcome' }, 'the write is not acknowledged')
  const { status: ready } = await fetch(`${server.adminUrl}/readyz`)
  t.equal(ready, 503, 'the service is not ready')
  await strace.detach()
  t.match(await server.logged('writer died'), { how: 'SIGKILL' })
  await server.logged('writer replaced')
  t.equal((await server.connect().post('set', { path: 'kept', value: 3 })).status, 200, 'writes succeed again')
})

/** Fails while a batch is written, like a defect or damaged pages. */
const poisoned = `
import { Transaction as SoundTransaction } from './sound-transaction.js'
export class Transaction extends SoundTransaction {
  update(path, topic, item, ...rest) {
    if (path === 'poisoned' && item.end - item.start > 50) throw new Error('planted')
    super.update(path, topic, item, ...rest)
  }
}
`

t.test('a batch that fails halfway changes nothing', async (t) => {
  const program = patchedProgram(join(t.testdir(), 'program'), 'store/lmdb/commit/transaction.js', poisoned)
  const server = await startServer(t, { program, dataDir: join(t.testdirName, 'db') })
  for (const path of ['a', 'poisoned', 'z']) await server.post('addAndSet', { path, value: 1 })
  const operations = ['a', 'poisoned', 'z'].map((path) => ({ op: 'set', path, value: 'x'.repeat(50) }))
  const answer = await server.connect().post('batch', { operations })
  t.match(answer, { status: 503, code: 'unknown_outcome' })
  t.match(await server.logged('commit failed; the writer exits'), { cause: 'Error: planted' })
  t.equal(server.timesLogged('writer died'), writerSendsMax, 'the request was sent to the maximum number of writers')
  for (const path of ['a', 'poisoned', 'z'])
    t.match(await server.connect().post('fetch', { path }), { text: `{"path":"${path}","type":"json","value":1}` })
})
