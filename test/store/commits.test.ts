/**
 * How writes share transactions, and are counted, paused and failed on their way to disk. Most tests have transactions
 * of their own in place of lmdb's, which end when the test decides.
 */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { operationsInOneCallbackMax } from '../../dist/limits.js'
import { now } from '../../dist/store/clock.js'
import { Commits } from '../../dist/store/lmdb/commits.js'
import { smallWrite, type WriteSize } from '../../dist/store/lmdb/disk-room.js'
import { openEnvironment } from '../../dist/store/lmdb/environment.js'
import type { TopicChanges } from '../../dist/store/lmdb/topic-changes.js'
import { createWrites } from '../../dist/store/lmdb/writes.js'
import { CommitFailed, StoreError } from '../../dist/store/store.js'

type Room = ConstructorParameters<typeof Commits>[2]

interface Trial {
  readonly commits: Commits
  /** Calls the callbacks that wait, and completes their transactions. @returns how many there were */
  commit(): number
  /** Calls the callbacks that wait, and fails their transactions. */
  fail(reason: Error): void
  /** The same, but the transactions fail when the result is called. */
  hold(): (reason: Error) => void
  /** Fails the transactions that wait, without calling their callbacks. */
  refuse(reason: Error): void
}

function trial(onBroken: (reason: Error) => void, room?: Room): Trial {
  let waiting: { callback: () => void; resolve: () => void; reject: (reason: Error) => void }[] = []
  const transact = (callback: () => void): Promise<void> =>
    new Promise((resolve, reject) => waiting.push({ callback, resolve, reject }))
  const begin = (): TopicChanges => ({ put: () => {} }) as TopicChanges
  const take = (): typeof waiting => {
    const taken = waiting
    waiting = []
    for (const { callback } of taken) callback()
    return taken
  }
  return {
    commits: new Commits({ transact, begin }, onBroken, room),
    commit() {
      const taken = take()
      for (const { resolve } of taken) resolve()
      return taken.length
    },
    fail(reason) {
      for (const { reject } of take()) reject(reason)
    },
    hold() {
      const taken = take()
      return (reason) => {
        for (const { reject } of taken) reject(reason)
      }
    },
    refuse(reason) {
      for (const { reject } of waiting.splice(0)) reject(reason)
    },
  }
}

const sized = (operations: number): WriteSize => ({ ...smallWrite, operations })

/** The error with which lmdb rejects a transaction whose commit failed. */
function commitReason(): Error {
  return Object.assign(new Error('Commit failed'), { commitError: Promise.reject(new Error('EIO')) })
}

const reasonOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error)
const kindOf = (error: unknown): unknown => (error instanceof StoreError ? error.kind : error)

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

await t.test('writes share a transaction until its callback begins, up to a number of operations', async (t) => {
  const { commits, commit } = trial(t.fail)
  const ran: string[] = []
  const run = (name: string, size?: WriteSize): Promise<string> =>
    commits.run(() => {
      ran.push(name)
      return name
    }, size)
  const first = [run('a'), run('b'), run('c', sized(operationsInOneCallbackMax))]
  const rest = run('d')
  t.strictSame(ran, [], 'none runs outside of a transaction')
  t.equal(commit(), 1)
  t.strictSame(ran, ['a', 'b', 'c'], 'in their order, up to the bound')
  t.strictSame(await Promise.all(first), ['a', 'b', 'c'], 'each gets what its work returned')
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(commit(), 1, 'one more for the rest')
  t.equal(await rest, 'd')
  const later = run('e')
  t.notOk(await isSettled(later), 'a later one waits for its own')
  t.equal(commit(), 1)
  t.equal(await later, 'e')
  t.match(commits.stats, { inFlight: 0, writes: operationsInOneCallbackMax + 4, failed: 0 })
  t.equal(
    commits.stats.batches.read().counts.reduce((sum, count) => sum + count, 0),
    3,
  )
  await commits.close()
})

await t.test('concurrent pauses and a close all resolve once the last write in flight completes', async (t) => {
  const { commits, commit } = trial(t.fail)
  const written = commits.run(() => 'done')
  const pauses = [commits.pauseWrites(), commits.pauseWrites()]
  const closed = commits.close()
  t.notOk(await isSettled(Promise.race([...pauses, closed])), 'a write is in flight')
  commit()
  t.equal(await written, 'done')
  for (const promise of [...pauses, closed]) t.ok(await isSettled(promise))
})

await t.test('a write that waits during a pause is executed on resume, and rejected on close', async (t) => {
  const { commits, commit } = trial(t.fail)
  await commits.pauseWrites()
  const first = commits.run(() => 'done')
  t.equal(commit(), 0)
  commits.resumeWrites()
  t.equal(commit(), 1)
  t.equal(await first, 'done')
  await commits.pauseWrites()
  const second = commits.run(() => t.fail('it was executed'))
  await commits.close()
  t.equal(await second.catch(kindOf), 'unavailable', 'a write that waited')
  t.equal(await commits.run(() => t.fail('it was executed')).catch(kindOf), 'unavailable', 'a later write')
  t.equal(commit(), 0, 'neither reached the store')
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
  const { commits, commit } = trial(t.fail, room)
  const mistake = new Error('mistake')
  const first = commits.run(() => 'first')
  const second = commits.run(() => {
    throw mistake
  })
  const large = commits.run(() => 'large', sized(writesAtOnce))
  const small = commits.run(() => 'small')
  t.equal(commit(), 1)
  t.equal(await first, 'first')
  await t.rejects(second, mistake)
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(commit(), 1)
  t.equal(await large, 'large', 'carried out once there is room')
  t.notOk(await isSettled(small), 'and no later one passes it')
  t.equal(commit(), 1)
  t.equal(await small, 'small')
  const refused = commits.run(() => 'too large', sized(writesAtOnce + 1))
  await t.rejects(refused, new StoreError('full', 'the disk is nearly full'))
  t.equal(reserved, 0, 'everything is released')
  t.match(commits.stats, { inFlight: 0, writes: 4, failed: 0 })
  await commits.close()
})

await t.test('a failed commit fails all its writes, is reported once, and ends all writing', async (t) => {
  const reasons: Error[] = []
  const { commits, commit, fail } = trial((reason) => reasons.push(reason))
  const done = commits.run(() => 'done')
  commit()
  t.equal(await done, 'done')
  const failed = [commits.run(() => 'first'), commits.run(() => 'second', sized(2))]
  fail(commitReason())
  for (const promise of failed) t.ok((await reasonOf(promise)) instanceof CommitFailed)
  t.equal(reasons.length, 1)
  t.match(commits.stats, { inFlight: 0, writes: 4, failed: 3 })
  t.ok((await reasonOf(commits.run(() => t.fail('it was executed')))) instanceof CommitFailed, 'a later one')
  t.equal(commit(), 0, 'it never reaches lmdb')
  t.match(commits.stats, { inFlight: 0, writes: 4, failed: 3 }, 'nor is it counted')
  await commits.close()
})

await t.test('a defect in a write is no failed commit, and does not touch the others of its transaction', async (t) => {
  const { commits, commit } = trial(t.fail)
  const defect = new TypeError('ours')
  const written = commits.run(() => 'done')
  const failed = commits.run(() => {
    throw defect
  })
  t.match(commits.stats, { inFlight: 2, writes: 2 })
  commit()
  t.equal(await reasonOf(failed), defect, 'its caller gets the defect itself')
  t.equal(await written, 'done')
  t.match(commits.stats, { inFlight: 0, writes: 1, failed: 0 }, 'the write is no longer counted')
  await commits.close()
})

await t.test('a transaction that cannot be begun fails its writes, and later ones have another', async (t) => {
  const { commits, commit, refuse } = trial(t.fail)
  const refused = commits.run(() => t.fail('it was executed'))
  const reason = new Error('cannot begin')
  refuse(reason)
  t.equal(await reasonOf(refused), reason)
  t.match(commits.stats, { inFlight: 0, writes: 0, failed: 0 })
  const later = commits.run(() => 'done')
  t.equal(commit(), 1)
  t.equal(await later, 'done')
  await commits.close()
})

await t.test('a write that waits for its transaction when another commit fails is not executed', async (t) => {
  const { commits, commit, hold } = trial(() => {})
  const failing = commits.run(() => 'first')
  const failed = hold()
  const waiting = commits.run(() => t.fail('it was executed'))
  failed(commitReason())
  t.ok((await reasonOf(failing)) instanceof CommitFailed)
  t.equal(commit(), 1)
  t.ok((await reasonOf(waiting)) instanceof CommitFailed)
  t.match(commits.stats, { inFlight: 0, writes: 1, failed: 1 }, 'only the first is counted')
  await commits.close()
})

async function openWrites(t: Test) {
  const environment = openEnvironment(t.testdir())
  const { commits } = createWrites(environment, now, t.fail)
  t.teardown(async () => {
    await commits.close()
    await environment.root.close()
  })
  return { environment, commits }
}

await t.test('in a transaction of lmdb, a write sees those before it, and nobody else does', async (t) => {
  const { environment, commits } = await openWrites(t)
  const { meta } = environment
  const seen: (string | undefined)[] = []
  const text = (): string | undefined => meta.get('a')?.toString()
  const first = commits.run(() => meta.putSync('a', Buffer.from('1')))
  const second = commits.run(() => seen.push(text()))
  t.equal(text(), undefined, 'not before it is executed')
  await Promise.all([first, second])
  t.strictSame(seen, ['1'])
  environment.freshen()
  t.equal(text(), '1')
})

await t.test('a write that throws in a transaction of lmdb leaves the others, and later ones succeed', async (t) => {
  const { environment, commits } = await openWrites(t)
  const defect = new TypeError('ours')
  const before = commits.run(() => environment.meta.putSync('a', Buffer.from('1')))
  const failed = commits.run(() => {
    throw defect
  })
  t.equal(await reasonOf(failed), defect)
  t.equal(await before, true)
  t.equal(await commits.run(() => environment.meta.get('a')?.toString()), '1')
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
