/**
 * How writes share transactions, and are counted, paused and failed on their way to disk, with transactions of the test's
 * own in place of lmdb's, which fail when the test says so.
 */
import t from 'tap'
import { operationsInOneCommitMax } from '../../dist/settings/limits.js'
import { StoreError } from '../../dist/store/errors.js'
import { bytesInOneCommitMax, Commits, executionMsMax } from '../../dist/store/lmdb/write/commits.js'
import { smallWrite, type WriteSize } from '../../dist/store/lmdb/write/disk-room.js'
import type { TopicChanges } from '../../dist/store/lmdb/write/topic-changes.js'
import { skippableTime } from '../support/skipped-time.js'
import { turn, turns } from '../support/turns.js'

type Room = ConstructorParameters<typeof Commits>[2]

interface Trial {
  readonly commits: Commits
  /** What the transactions did, in order. */
  readonly steps: string[]
  /** Fails every transaction from now on: instead of its callback, or after it. */
  fail(when: 'at its beginning' | 'at its end', reason: Error): void
}

function trial(onBroken: (reason: Error) => void, room?: Room): Trial {
  const steps: string[] = []
  let failure: { readonly when: string; readonly reason: Error } | undefined
  const transactions = {
    transact(callback: () => void) {
      if (failure?.when === 'at its beginning') throw failure.reason
      callback()
      if (failure !== undefined) throw failure.reason
      steps.push('on disk')
    },
    begin() {
      steps.push('begin')
      return { put: () => void steps.push('put') } as unknown as TopicChanges
    },
    end: () => void steps.push('end'),
    committed: () => void steps.push('committed'),
  }
  return {
    commits: new Commits(transactions, onBroken, room),
    steps,
    fail(when, reason) {
      failure = { when, reason }
    },
  }
}

const sized = (operations: number): WriteSize => ({ ...smallWrite, operations })

const reasonOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error)
const kindOf = (error: unknown): unknown => (error instanceof StoreError ? error.kind : error)

/** Whether the promise is settled once everything that can run has run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  promise.then(
    () => (settled = true),
    () => (settled = true),
  )
  await turns(3)
  return settled
}

/** Commits as much as one transaction may have, until that is the most. */
async function fill(commits: Commits): Promise<void> {
  for (let i = 0; i < 10; i++) await commits.run(() => {}, sized(operationsInOneCommitMax))
}

/** How many operations the commits that were counted had. */
function committedOperations(commits: Commits): number {
  return commits.stats.batches.read().sum
}

function commitCount(commits: Commits): number {
  return commits.stats.batches.read().counts.reduce((sum, count) => sum + count, 0)
}

await t.test('writes of one turn share a transaction, up to a number of operations', async (t) => {
  const { commits, steps } = trial(t.fail)
  const run = (name: string, size?: WriteSize): Promise<string> =>
    commits.run(() => {
      steps.push(name)
      return name
    }, size)
  const all = [run('a'), run('b'), run('c', sized(operationsInOneCommitMax)), run('d')]
  t.strictSame(steps, [], 'none runs at once')
  t.strictSame(await Promise.all(all), ['a', 'b', 'c', 'd'], 'each gets what its work returned')
  const whole = (...names: string[]): string[] => ['begin', ...names, 'put', 'end', 'on disk', 'committed']
  t.strictSame(steps, [...whole('a', 'b', 'c'), ...whole('d')], 'in their order; one more transaction for the rest')
  steps.length = 0
  t.equal(await run('e'), 'e')
  t.strictSame(steps, whole('e'), 'a later one has its own')
  t.match(commits.stats, { inFlight: 0, writes: operationsInOneCommitMax + 4, failed: 0 })
  t.equal(commitCount(commits), 3)
  t.equal(committedOperations(commits), operationsInOneCommitMax + 4)
  await commits.close()
})

for (const [bound, max, sizeOf] of [
  ['operations', operationsInOneCommitMax, sized],
  ['bytes', bytesInOneCommitMax, (bytes: number): WriteSize => ({ ...smallWrite, bytes, grows: true })],
] as const) {
  await t.test(`a transaction ends with the first write that reaches the bound in ${bound}`, async (t) => {
    const { commits, steps } = trial(t.fail)
    await fill(commits)
    steps.length = 0
    const sizes = [max - 1, 1, 1, max + 1, 1]
    await Promise.all(sizes.map((size, i) => commits.run(() => void steps.push(`${i}`), sizeOf(size))))
    const groups = steps.join(' ').split(' put end on disk committed')
    t.strictSame(groups, ['begin 0 1', ' begin 2 3', ' begin 4', ''])
    await commits.close()
  })
}

await t.test(
  'a transaction has few operations at first, more while commits are quick, fewer once one is slow',
  async (t) => {
    const operations = 250
    const time = skippableTime(t)
    const { commits, steps } = trial(t.fail)
    const groups = async (writes: number): Promise<number[]> => {
      steps.length = 0
      await Promise.all(
        Array.from({ length: writes }, () => commits.run(() => void steps.push('x'), sized(operations))),
      )
      return (
        steps
          .join('')
          .match(/x+/g)
          ?.map(({ length }) => length * operations) ?? []
      )
    }
    t.strictSame(await groups(1 + 2 + 4 + 8 + 16 + 32 + 32 + 1), [250, 500, 1000, 2000, 4000, 8000, 8000, 250])
    await commits.run(() => time.pass(3001))
    t.strictSame(await groups(16 + 32 + 1), [4000, 8000, 250])
    await commits.close()
  },
)

await t.test('writes that a transaction has no time for join the next, before later ones', async (t) => {
  const admitted: number[] = []
  const room = {
    begin: () => void admitted.push(0),
    admit() {
      admitted.push((admitted.pop() ?? 0) + 1)
      return 'admitted' as const
    },
  }
  const { commits, steps } = trial(t.fail, room)
  const submit = (name: string, work = (): void => {}): void =>
    commits.submit({
      size: smallWrite,
      execute() {
        steps.push(name)
        work()
      },
      settle: (failure) => void steps.push(`${name} ${failure ?? 'done'}`),
    })
  const time = skippableTime(t)
  const isLong = (): void => time.pass(executionMsMax)
  const last = new Promise<void>((resolve) => submit('a', () => submit('e', resolve)))
  submit('b', isLong)
  submit('c', isLong)
  submit('d')
  await last
  await commits.close()
  const whole = (...names: string[]): string[] => {
    const done = names.map((name) => `${name} done`)
    return ['begin', ...names, 'put', 'end', 'on disk', 'committed', ...done]
  }
  t.strictSame(steps, [...whole('a', 'b'), ...whole('c'), ...whole('d', 'e')], 'each has at least one')
  t.strictSame(admitted, [4, 3, 2], 'room is reserved anew')
  t.match(commits.stats, { inFlight: 0, writes: 5, failed: 0 })
  t.equal(commitCount(commits), 3)
  t.equal(committedOperations(commits), 5)
})

await t.test('a write waits for others no longer than 3 ms, however long the last transaction took', async (t) => {
  const { commits } = trial(t.fail)
  const time = skippableTime(t)
  await Promise.all([commits.run(() => time.pass(20)), commits.run(() => {}), commits.run(() => {})])
  const { setTimeout } = globalThis
  const waitsMs: number[] = []
  globalThis.setTimeout = ((callback: () => void, ms: number) => {
    waitsMs.push(ms)
    return setTimeout(callback, 0)
  }) as typeof setTimeout
  const written = commits.run(() => {})
  globalThis.setTimeout = setTimeout
  await written
  t.strictSame(waitsMs, [3], 'in ms')
  await commits.close()
})

await t.test('during a pause writes wait, and they are carried out on resume', async (t) => {
  const { commits, steps } = trial(t.fail)
  const before = commits.run(() => 'before')
  commits.pauseWrites()
  t.equal(steps.at(-1), 'committed', 'what waited has been carried out when the pause begins')
  t.equal(await before, 'before')
  const during = commits.run(() => 'during')
  t.notOk(await isSettled(during), 'a later one waits')
  t.equal(commitCount(commits), 1, 'there is no other transaction')
  t.match(commits.stats, { inFlight: 1, writes: 2 })
  commits.resumeWrites()
  t.equal(await during, 'during')
  for (let pause = 0; pause < 3; pause++) {
    const waiting = commits.run(() => pause)
    commits.pauseWrites()
    commits.resumeWrites()
    commits.pauseWrites()
    t.equal(await waiting, pause, 'pauses in succession do not hold writes up')
    commits.resumeWrites()
  }
  await commits.close()
})

await t.test('closing waits for what was begun, and refuses what comes later', async (t) => {
  const { commits, steps } = trial(t.fail)
  const size = sized(operationsInOneCommitMax)
  const begun = [commits.run(() => 'first', size), commits.run(() => 'second', size)]
  const closed = [commits.close(), commits.close()]
  t.equal(await commits.run(() => t.fail('it was executed')).catch(kindOf), 'unavailable')
  await Promise.all(closed)
  t.equal(steps.filter((step) => step === 'committed').length, 2, 'closed only when both are on disk')
  t.strictSame(await Promise.all(begun), ['first', 'second'])
  t.match(commits.stats, { inFlight: 0, writes: 2 * operationsInOneCommitMax, failed: 0 })
})

await t.test('closing during a pause refuses what waits', async (t) => {
  const { commits, steps } = trial(t.fail)
  commits.pauseWrites()
  const waiting = commits.run(() => t.fail('it was executed'))
  await commits.close()
  t.equal(await waiting.catch(kindOf), 'unavailable', 'a write that waited')
  t.equal(await commits.run(() => t.fail('it was executed')).catch(kindOf), 'unavailable', 'a later write')
  commits.resumeWrites()
  await turn()
  t.strictSame(steps, [], 'neither reached the store')
  t.match(commits.stats, { inFlight: 0, writes: 0, failed: 0 }, 'nor is either counted')
})

await t.test('a write for which the disk has no room waits for those before it, or is refused', async (t) => {
  const writesAtOnce = 2
  let admitted = 0
  const room = {
    begin: () => {
      admitted = 0
    },
    admit: ({ operations }: WriteSize) => {
      if (operations > writesAtOnce) return 'full'
      if (admitted + operations > writesAtOnce) return 'later'
      admitted += operations
      return 'admitted'
    },
  } as const
  const { commits, steps } = trial(t.fail, room)
  const mistake = new Error('mistake')
  const step = (name: string) => () => {
    steps.push(name)
    return name
  }
  const first = commits.run(step('first'))
  const refused = commits.run(() => t.fail('it was executed'), sized(writesAtOnce + 1))
  const second = commits.run(() => {
    throw mistake
  })
  const large = commits.run(step('large'), sized(writesAtOnce))
  const small = commits.run(step('small'))
  await t.rejects(refused, new StoreError('full', 'the disk is nearly full'))
  await t.rejects(second, mistake)
  t.strictSame(await Promise.all([first, large, small]), ['first', 'large', 'small'])
  const order = steps.filter((each) => /begin|first|large|small/.test(each))
  t.strictSame(order, ['begin', 'first', 'begin', 'large', 'begin', 'small'], 'none passes one that waits')
  t.match(commits.stats, { inFlight: 0, writes: 5, failed: 0 }, 'the refused one is not counted')
  await commits.close()
})

for (const when of ['at its beginning', 'at its end'] as const) {
  await t.test(`a transaction that fails ${when} fails all its writes, once, and ends all writing`, async (t) => {
    const reasons: Error[] = []
    const { commits, steps, fail } = trial((reason) => reasons.push(reason))
    t.equal(await commits.run(() => 'done'), 'done')
    steps.length = 0
    const cause = new Error('EIO')
    fail(when, cause)
    const failed = [commits.run(() => 'first'), commits.run(() => 'second', sized(operationsInOneCommitMax))]
    const waiting = commits.run(() => t.fail('it was executed'))
    for (const promise of failed) {
      const reason = await reasonOf(promise)
      t.equal(kindOf(reason), 'unknown_outcome')
      t.equal((reason as Error).cause, cause)
    }
    t.equal(kindOf(await reasonOf(waiting)), 'unknown_outcome', 'one that waited for the next transaction')
    t.equal(reasons.length, 1)
    t.notOk(steps.includes('committed'))
    const counts = { inFlight: 0, writes: operationsInOneCommitMax + 2, failed: operationsInOneCommitMax + 1 }
    t.match(commits.stats, counts, 'only those of the transaction are counted')
    steps.length = 0
    t.equal(kindOf(await reasonOf(commits.run(() => t.fail('it was executed')))), 'unknown_outcome', 'a later one')
    await turn()
    t.strictSame(steps, [], 'it never reaches lmdb')
    t.match(commits.stats, counts, 'nor is it counted')
    await commits.close()
  })
}

await t.test('a defect in a write is no failed commit, and does not touch the others of its transaction', async (t) => {
  const { commits } = trial(t.fail)
  const defect = new TypeError('ours')
  const written = commits.run(() => 'done')
  const failed = commits.run(() => {
    throw defect
  })
  t.match(commits.stats, { inFlight: 2, writes: 2 })
  t.equal(await reasonOf(failed), defect, 'its caller gets the defect itself')
  t.equal(await written, 'done')
  t.match(commits.stats, { inFlight: 0, writes: 2, failed: 0 })
  t.equal(committedOperations(commits), 2, 'it is counted with its transaction')
  await commits.close()
})
