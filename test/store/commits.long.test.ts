/**
 * Writes share transactions, are counted, and can fail on their way to disk. The test replaces lmdb's transactions with its own, which fail
 * on request.
 */
import t from 'tap'
import { operationsInOneCommitMax } from '../../dist/settings/limits.js'
import type { WriteSize } from '../../dist/store/engine.js'
import { StoreError } from '../../dist/store/errors.js'
import { bytesInOneCommitMax, Commits, decidingMsMax } from '../../dist/store/lmdb/commit/commits.js'
import { skippableTime } from '../support/skipped-time.js'
import { turn } from '../support/turns.js'

/** A request in a test: its size, and the work of its decision. */
interface Asked {
  readonly size: WriteSize
  readonly work: () => unknown
}

type TestCommits = Commits<Asked, unknown>
type Parameters = ConstructorParameters<typeof Commits<Asked, unknown>>
type Room = Parameters[3]

interface Trial {
  readonly commits: TestCommits
  /** The steps of all transactions, in order. */
  readonly steps: string[]
  /** Fails every transaction from now on, instead of its callback or after it. */
  fail(when: 'at its start' | 'at its end', reason: Error): void
  run<T>(work: () => T, size?: WriteSize): Promise<T>
}

const small: WriteSize = { operations: 1, bytes: 0, grows: false }

function trial(onBroken: (reason: Error) => void, room?: Room): Trial {
  const steps: string[] = []
  let failure: { readonly when: string; readonly reason: Error } | undefined
  const transaction = { begin: () => void steps.push('begin'), end: () => void steps.push('end') }
  const transactions = {
    transact(callback: () => void) {
      if (failure?.when === 'at its start') throw failure.reason
      callback()
      if (failure !== undefined) throw failure.reason
      steps.push('on disk')
    },
    stored: {} as Parameters[0]['stored'],
    transaction: transaction as unknown as Parameters[0]['transaction'],
    committed: () => void steps.push('committed'),
  }
  const decider = {
    sizeOf: ({ size }: Asked) => size,
    begin: () => ({ decide: ({ work }: Asked) => work(), end: () => void steps.push('put') }),
  }
  const commits = new Commits(transactions, decider, onBroken, room)
  return {
    commits,
    steps,
    fail(when, reason) {
      failure = { when, reason }
    },
    run: <T>(work: () => T, size = small) => commits.commit({ size, work }) as Promise<T>,
  }
}

const sized = (operations: number): WriteSize => ({ ...small, operations })

const reasonOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error)
const kindOf = (error: unknown): unknown => (error instanceof StoreError ? error.kind : error)

/** Commits full transactions until their limit has reached its maximum. */
async function fill({ run }: Trial): Promise<void> {
  for (let i = 0; i < 10; i++) await run(() => {}, sized(operationsInOneCommitMax))
}

/** Operations in the counted commits. */
function committedOperations(commits: TestCommits): number {
  return commits.stats.batches.read().sum
}

function commitCount(commits: TestCommits): number {
  return commits.stats.batches.read().counts.reduce((sum, count) => sum + count, 0)
}

await t.test('writes of one turn of the event loop share a transaction up to a maximum of operations', async (t) => {
  const { commits, steps, run: decide } = trial(t.fail)
  const run = (name: string, size?: WriteSize): Promise<string> =>
    decide(() => {
      steps.push(name)
      return name
    }, size)
  const all = [run('a'), run('b'), run('c', sized(operationsInOneCommitMax)), run('d')]
  t.strictSame(steps, [], 'none runs immediately')
  t.strictSame(await Promise.all(all), ['a', 'b', 'c', 'd'], 'each write gets the result of its work')
  const whole = (...names: string[]): string[] => ['begin', ...names, 'put', 'end', 'on disk', 'committed']
  t.strictSame(steps, [...whole('a', 'b', 'c'), ...whole('d')], 'in order; a second transaction has the rest')
  steps.length = 0
  t.equal(await run('e'), 'e')
  t.strictSame(steps, whole('e'), 'a later write has its own transaction')
  t.match(commits.stats, { inFlight: 0, writes: operationsInOneCommitMax + 4, failed: 0 })
  t.equal(commitCount(commits), 3)
  t.equal(committedOperations(commits), operationsInOneCommitMax + 4)
  await commits.close()
})

for (const [bound, max, sizeOf] of [
  ['operations', operationsInOneCommitMax, sized],
  ['bytes', bytesInOneCommitMax, (bytes: number): WriteSize => ({ ...small, bytes, grows: true })],
] as const) {
  await t.test(`a transaction ends with the first write that reaches the limit in ${bound}`, async (t) => {
    const trials = trial(t.fail)
    const { commits, steps, run } = trials
    await fill(trials)
    steps.length = 0
    const sizes = [max - 1, 1, 1, max + 1, 1]
    await Promise.all(sizes.map((size, i) => run(() => void steps.push(`${i}`), sizeOf(size))))
    const groups = steps.join(' ').split(' put end on disk committed')
    t.strictSame(groups, ['begin 0 1', ' begin 2 3', ' begin 4', ''])
    await commits.close()
  })
}

await t.test('transactions grow while commits are quick and shrink after a slow one', async (t) => {
  const operations = 250
  const time = skippableTime(t)
  const { commits, steps, run } = trial(t.fail)
  const groups = async (writes: number): Promise<number[]> => {
    steps.length = 0
    await Promise.all(Array.from({ length: writes }, () => run(() => void steps.push('x'), sized(operations))))
    return (
      steps
        .join('')
        .match(/x+/g)
        ?.map(({ length }) => length * operations) ?? []
    )
  }
  t.strictSame(await groups(1 + 2 + 4 + 8 + 16 + 32 + 32 + 1), [250, 500, 1000, 2000, 4000, 8000, 8000, 250])
  await run(() => time.pass(3001))
  t.strictSame(await groups(16 + 32 + 1), [4000, 8000, 250])
  await commits.close()
})

await t.test('writes left over when a transaction runs out of time go first in the next one', async (t) => {
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
    commits.submit(
      {
        size: small,
        work() {
          steps.push(name)
          work()
        },
      },
      (settled) => void steps.push(`${name} ${'error' in settled ? settled.error : 'done'}`),
    )
  const time = skippableTime(t)
  const isLong = (): void => time.pass(decidingMsMax)
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
  t.strictSame(steps, [...whole('a', 'b'), ...whole('c'), ...whole('d', 'e')], 'each has at least one write')
  t.strictSame(admitted, [4, 3, 2], 'room is reserved again')
  t.match(commits.stats, { inFlight: 0, writes: 5, failed: 0 })
  t.equal(commitCount(commits), 3)
  t.equal(committedOperations(commits), 5)
})

await t.test('a write waits at most 3 ms for others, even after a slow transaction', async (t) => {
  const { commits, run } = trial(t.fail)
  const time = skippableTime(t)
  await Promise.all([run(() => time.pass(20)), run(() => {}), run(() => {})])
  const { setTimeout } = globalThis
  const waitsMs: number[] = []
  globalThis.setTimeout = ((callback: () => void, ms: number) => {
    waitsMs.push(ms)
    return setTimeout(callback, 0)
  }) as typeof setTimeout
  const written = run(() => {})
  globalThis.setTimeout = setTimeout
  await written
  t.strictSame(waitsMs, [3], 'in ms')
  await commits.close()
})

await t.test('close() waits for earlier writes and rejects later writes', async (t) => {
  const { commits, steps, run } = trial(t.fail)
  const size = sized(operationsInOneCommitMax)
  const begun = [run(() => 'first', size), run(() => 'second', size)]
  const closed = [commits.close(), commits.close()]
  t.equal(await run(() => t.fail('the write was executed')).catch(kindOf), 'unavailable')
  await Promise.all(closed)
  t.equal(steps.filter((step) => step === 'committed').length, 2, 'the close waits for both writes')
  t.strictSame(await Promise.all(begun), ['first', 'second'])
  t.match(commits.stats, { inFlight: 0, writes: 2 * operationsInOneCommitMax, failed: 0 })
})

await t.test('a close while writes are paused rejects the waiting writes', async (t) => {
  const { commits, steps, run } = trial(t.fail)
  commits.pauseWrites()
  const waiting = run(() => t.fail('the write was executed'))
  await commits.close()
  t.equal(await waiting.catch(kindOf), 'unavailable')
  t.strictSame(steps, [])
  t.match(commits.stats, { inFlight: 0, writes: 0, failed: 0 })
})

await t.test('a write too large for the disk is rejected alone, and a deferred write keeps its place', async (t) => {
  const admissions = ['admitted', 'full', 'admitted', 'later', 'admitted', 'admitted'] as const
  let asked = 0
  const { commits, steps, run } = trial(t.fail, { begin() {}, admit: () => admissions[asked++] ?? 'admitted' })
  const outcomes = ['a', 'b', 'c', 'd', 'e'].map((name) => run(() => void steps.push(name)).catch(kindOf))
  t.strictSame(await Promise.all(outcomes), [undefined, 'full', undefined, undefined, undefined])
  const whole = (...names: string[]): string[] => ['begin', ...names, 'put', 'end', 'on disk', 'committed']
  t.strictSame(steps, [...whole('a', 'c'), ...whole('d', 'e')])
  t.match(commits.stats, { inFlight: 0, writes: 4, failed: 0 })
  await commits.close()
})

for (const when of ['at its start', 'at its end'] as const) {
  await t.test(`if a transaction fails ${when}, its own writes and all later writes fail`, async (t) => {
    const reasons: Error[] = []
    const { commits, steps, fail, run } = trial((reason) => reasons.push(reason))
    t.equal(await run(() => 'done'), 'done')
    steps.length = 0
    const cause = new Error('EIO')
    fail(when, cause)
    const failed = [run(() => 'first'), run(() => 'second', sized(operationsInOneCommitMax))]
    const waiting = run(() => t.fail('the write was executed'))
    for (const promise of failed) {
      const reason = await reasonOf(promise)
      t.equal(kindOf(reason), 'unknown_outcome')
      t.equal((reason as Error).cause, cause)
    }
    t.equal(kindOf(await reasonOf(waiting)), 'unknown_outcome', 'a write that waited for the next transaction')
    t.equal(reasons.length, 1)
    t.notOk(steps.includes('committed'))
    const counts = { inFlight: 0, writes: operationsInOneCommitMax + 2, failed: operationsInOneCommitMax + 1 }
    t.match(commits.stats, counts, 'only the writes of the transaction are counted')
    steps.length = 0
    t.equal(kindOf(await reasonOf(run(() => t.fail('the write was executed')))), 'unknown_outcome', 'a later write')
    await turn()
    t.strictSame(steps, [], 'the later write never reaches lmdb')
    t.match(commits.stats, counts, 'the later write is not counted')
    await commits.close()
  })
}
