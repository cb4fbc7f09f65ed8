/**
 * How writes are counted, paused and failed on their way to disk. The test's own promises replace those of lmdb.
 */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { gateTurnsMax } from '../../dist/limits.js'
import { Commits } from '../../dist/store/lmdb/commits.js'
import { smallWrite, type WriteSize } from '../../dist/store/lmdb/disk-room.js'
import { openEnvironment } from '../../dist/store/lmdb/environment.js'
import { CommitFailed, StoreError } from '../../dist/store/store.js'
import { first } from '../support/elements.js'

/** A write that completes or fails when the test decides. */
function pendingWrite(): {
  readonly enqueue: () => Promise<boolean>
  readonly end: (done: boolean) => void
  readonly fail: (error: Error) => void
} {
  let end: (done: boolean) => void = () => {}
  let fail: (error: Error) => void = () => {}
  const written = new Promise<boolean>((resolve, reject) => {
    end = resolve
    fail = reject
  })
  return { enqueue: () => written, end: (done) => end(done), fail: (error) => fail(error) }
}

/** The error with which lmdb rejects a write whose commit failed. */
function commitReason(): Error {
  return Object.assign(new Error('Commit failed'), { commitError: Promise.reject(new Error('EIO')) })
}

/** Resolves once every write that waits at the gate has been passed to the store. */
async function gateOpened(): Promise<void> {
  for (let turn = 0; turn <= gateTurnsMax; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Whether the promise is settled once everything that can run has run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  promise.then(
    () => (settled = true),
    () => (settled = true),
  )
  await new Promise((resolve) => setImmediate(resolve))
  return settled
}

await t.test('concurrent pauses and a close all resolve once the last write in flight completes', async (t) => {
  const commits = new Commits(t.fail)
  const write = pendingWrite()
  const written = commits.run('done', write.enqueue)
  const pauses = [commits.pauseWrites(), commits.pauseWrites()]
  const closed = commits.close()
  t.notOk(await isSettled(Promise.race([...pauses, closed])), 'a write is in flight')
  write.end(true)
  t.equal(await written, 'done')
  for (const promise of [...pauses, closed]) t.ok(await isSettled(promise))
})

await t.test('a pause and a close wait for writes that are still at the gate', async (t) => {
  const commits = new Commits(t.fail)
  const inFlight = pendingWrite()
  const first = commits.run('first', inFlight.enqueue)
  let isEnqueued = false
  const waiting = commits.run('second', () => {
    isEnqueued = true
    return Promise.resolve(true)
  })
  let ends = 0
  const ended = [commits.pauseWrites(), commits.close()]
  for (const end of ended) void end.then(() => ends++)
  inFlight.end(true)
  t.equal(await first, 'first')
  t.notOk(isEnqueued, 'the second is at the gate')
  t.match(commits.stats, { inFlight: 1, writes: 2 })
  t.equal(ends, 0, 'neither has ended')
  t.equal(await waiting, 'second', 'it passes, although the store is closing')
  await Promise.all(ended)
})

await t.test('when its condition does not hold, a write resolves with what follows then', async (t) => {
  const commits = new Commits(t.fail)
  const unmet = (): Promise<boolean> => Promise.resolve(false)
  t.equal(await commits.run('done', unmet), undefined)
  t.equal(await commits.run('done', unmet, smallWrite, () => Promise.resolve('otherwise')), 'otherwise')
  const mistake = new Error('mistake')
  await t.rejects(
    commits.run('done', unmet, smallWrite, () => Promise.reject(mistake)),
    mistake,
  )
  const never = (): Promise<string> => Promise.reject(new Error('called although the condition held'))
  t.equal(await commits.run('done', () => Promise.resolve(true), smallWrite, never), 'done')
  await commits.close()
})

await t.test('a write that cannot be enqueued is not counted as in flight', async (t) => {
  const commits = new Commits(t.fail)
  const mistake = new Error('too long a key')
  const throwing = (): Promise<boolean> => {
    throw mistake
  }
  await t.rejects(commits.run('done', throwing), mistake)
  t.match(commits.stats, { inFlight: 0, writes: 0, failed: 0 })
  t.ok(await isSettled(commits.pauseWrites()), 'a pause does not wait for it')
  await commits.close()
})

await t.test('a write that waits during a pause is executed on resume, and rejected on close', async (t) => {
  const commits = new Commits(t.fail)
  await commits.pauseWrites()
  let calls = 0
  const write = (): Promise<boolean> => {
    calls++
    return Promise.resolve(true)
  }
  const first = commits.run('done', write)
  t.notOk(await isSettled(first))
  commits.resumeWrites()
  t.equal(await first, 'done')
  await commits.pauseWrites()
  const second = commits.run('done', write)
  await commits.close()
  const kindOf = (error: unknown): unknown => (error instanceof StoreError ? error.kind : error)
  t.equal(await second.catch(kindOf), 'unavailable', 'a write that waited')
  t.equal(await commits.run('done', write).catch(kindOf), 'unavailable', 'a later write')
  t.equal(calls, 1, 'neither reached the store')
})

await t.test('a write for which the disk has no room waits for those in flight, or is refused', async (t) => {
  const writesAtOnce = 2
  let reserved = 0
  const room = {
    reserve: ({ operations }: WriteSize) => {
      if (operations > writesAtOnce) return 'full'
      if (reserved + operations > writesAtOnce) return 'later'
      reserved += operations
      return operations
    },
    release: (operations: number) => (reserved -= operations),
    close: () => {},
  } as const
  const commits = new Commits(t.fail, room)
  const inFlight = pendingWrite()
  const failing = pendingWrite()
  const first = commits.run('first', inFlight.enqueue)
  const second = commits.run('second', failing.enqueue)
  const done = (): Promise<boolean> => Promise.resolve(true)
  const sized = (operations: number): WriteSize => ({ ...smallWrite, operations })
  const large = commits.run('large', done, sized(writesAtOnce))
  const small = commits.run('small', done)
  await gateOpened()
  inFlight.end(true)
  t.equal(await first, 'first')
  t.notOk(await isSettled(large), 'the first of those that wait needs more')
  t.notOk(await isSettled(small), 'and no later one passes it')
  const mistake = new Error('mistake')
  failing.fail(mistake)
  await t.rejects(second, mistake)
  t.equal(await large, 'large', 'carried out once there is room')
  t.equal(await small, 'small')
  const refused = commits.run('too large', done, sized(writesAtOnce + 1))
  await t.rejects(refused, new StoreError('full', 'the disk is nearly full'))
  t.equal(reserved, 0, 'everything is released')
  t.match(commits.stats, { inFlight: 0, writes: 4, failed: 0 })
  await commits.close()
})

await t.test('a condition that does not hold is not a failure; a failed commit is reported once', async (t) => {
  const reasons: Error[] = []
  const commits = new Commits((reason) => reasons.push(reason))
  const writes = [pendingWrite(), pendingWrite(), pendingWrite()]
  const [unmet, ...failed] = writes.map(({ enqueue }) => commits.run('done', enqueue))
  await gateOpened()
  first(writes).end(false)
  t.equal(await unmet, undefined)
  for (const { fail } of writes.slice(1)) fail(commitReason())
  const reasonOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error)
  for (const promise of failed) t.ok((await reasonOf(promise)) instanceof CommitFailed)
  t.equal(reasons.length, 1)
  t.match(commits.stats, { inFlight: 0, writes: 3, failed: 2 })
  await commits.close()
})

await t.test(
  'once a commit has failed, writes at the gate and later ones are rejected and never reach lmdb',
  async (t) => {
    const commits = new Commits(() => {})
    const inFlight = pendingWrite()
    const never = (): Promise<boolean> => Promise.reject(new Error('it reached lmdb'))
    const writes = [commits.run('first', inFlight.enqueue), commits.run('second', never)]
    inFlight.fail(commitReason())
    const reasonOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error)
    const reasons = await Promise.all(writes.map(reasonOf))
    reasons.push(await reasonOf(commits.run('third', never)))
    for (const reason of reasons) t.ok(reason instanceof CommitFailed)
    t.match(commits.stats, { inFlight: 0, writes: 1, failed: 1 }, 'only the first is counted')
    await commits.close()
  },
)

await t.test('a defect in a write is not reported as a failed commit', async (t) => {
  const commits = new Commits(t.fail)
  const first = pendingWrite()
  const second = pendingWrite()
  const written = [commits.run('done', first.enqueue), commits.run('done', second.enqueue)] as const
  await gateOpened()
  const defect = new TypeError('ours')
  first.fail(defect)
  t.equal(await written[0].catch((error: unknown) => error), defect, 'its caller gets the defect itself')
  t.match(commits.stats, { inFlight: 1, writes: 1, failed: 0 }, 'the write is no longer counted')
  second.end(true)
  t.equal(await written[1], 'done', 'other writes in flight complete')
  t.equal(await commits.run('done', () => Promise.resolve(true)), 'done', 'and so do later writes')
  await commits.close()
})

await t.test("LMDB's own error in a transaction's callback is a failed commit", async (t) => {
  const reasons: Error[] = []
  const commits = new Commits((reason) => reasons.push(reason))
  const full = Object.assign(new Error('MDB_MAP_FULL'), { code: -30792 })
  const write = commits.run('done', () => Promise.reject(full))
  const failed = await write.catch((error: unknown) => error)
  t.ok(failed instanceof CommitFailed && failed.cause === full)
  t.equal(reasons.length, 1)
  t.match(commits.stats, { inFlight: 0, writes: 1, failed: 1 })
  await commits.close()
})

await t.test('a transaction callback that throws rejects with its error, and later transactions succeed', async (t) => {
  const { root, keys } = openEnvironment(t.testdir())
  const commits = new Commits(t.fail)
  const defect = new TypeError('ours')
  const throwing = (): boolean => {
    throw defect
  }
  const failed = commits.run('done', () => keys.transaction(throwing))
  t.equal(await failed.catch((error: unknown) => error), defect)
  t.equal(await commits.run('done', () => keys.transaction(() => true)), 'done')
  await commits.close()
  await root.close()
})

await t.test(
  'unhandled rejections of a failed commit are ignored, others are not, and only after ignoreUnheardCommitFailures',
  (t) => {
    const commits = join(import.meta.dirname, '../../dist/store/lmdb/commits.js')
    const log = join(import.meta.dirname, '../../dist/ops/log.js')
    const run = (script: string): { readonly status: number | null; readonly stdout: string } =>
      spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
    const setUp = `
    import { ignoreUnheardCommitFailures } from ${JSON.stringify(commits)}
    import { createLog, logCrashes } from ${JSON.stringify(log)}
    logCrashes(createLog('test'))
    ignoreUnheardCommitFailures()
    setTimeout(() => console.log('continued'), 50)`
    const unheard =
      "Promise.reject(Object.assign(new Error('EIO'), { commitError: Promise.reject(Object.assign(new Error('EIO'), { commitError: 1 })) }))"
    t.match(run(`${setUp}; ${unheard}`), { status: 0, stdout: 'continued\n' })
    t.match(run(`${setUp}; Promise.reject(new Error('ours'))`), { status: 1, stdout: /"crashed"/ })
    t.match(run(`import ${JSON.stringify(commits)}; console.log(process.listenerCount('unhandledRejection'))`), {
      status: 0,
      stdout: '0\n',
    })
    t.end()
  },
)
