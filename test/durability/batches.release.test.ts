/**
 * Batches and constraints under load over several workers: transfers between accounts keep their sum in every page, and
 * a counter that is incremented by compare-and-set loses nothing, also while workers are killed and replaced. The
 * controls go without constraints, and without batches. TORTURE_SECONDS=60 runs longer.
 */
import t, { type Test } from 'tap'
import { Counter } from '../support/load/counter.js'
import { Transfers, type TransfersOptions } from '../support/load/transfers.js'
import { seededRandom } from '../support/random.js'
import { startServer, until } from '../support/service/server.js'

const seconds = Number(process.env.TORTURE_SECONDS ?? 12)
const workers = 3

t.setTimeout((seconds + 180) * 1000)

const isReady = async (adminUrl: string): Promise<true | undefined> =>
  (await fetch(`${adminUrl}/readyz`)).ok || undefined

t.test('transfers keep the sum, and a counter its count, while workers are killed and replaced', async (t) => {
  const random = seededRandom(t)
  const server = await startServer(t, { workers, exitCode: undefined, check: false })
  const load = new Transfers({ random, target: () => server })
  await load.start(server.client)
  const startMs = performance.now()
  let killed = 0
  let killedAt = 0
  let isRestarted = false
  while (performance.now() < startMs + seconds * 1000 || load.done < 50 || killed < 3 || !isRestarted) {
    await new Promise((resolve) => setTimeout(resolve, 100 + random.below(900)))
    if (!isRestarted && killed > 1 && performance.now() > startMs + seconds * 500) {
      isRestarted = true
      server.signal('SIGHUP')
      // It gives up when a new worker dies before it serves.
      await server.logged('rolling restart done')
    }
    // Kills that leave no time between them to start a worker would only stop the load; on a busy machine the last one
    // may have hit the only worker.
    const pids = server.workerPids()
    if (load.done === killedAt || pids.length === 0) continue
    killedAt = load.done
    process.kill(random.pick(pids), 'SIGKILL')
    killed++
  }
  await load.stop()
  await until('all workers serve again', () => isReady(server.adminUrl))
  t.comment(`${load.summary}; ${killed} workers killed, one rolling restart`)
  t.strictSame(await load.faults(server.client), [], 'every sum and the counter are right, and the log explains it')
  t.ok(load.conflicts > 5 && load.counter.done > 10 && load.pages > 100, 'there was load, and there were conflicts')
  await server.stop()
  const check = await server.command('check')
  t.equal(check.code, 0, `the store is sound: ${check.stdout}`)
})

for (const fault of ['no constraints', 'no batches'] as const) {
  t.test(`transfers with ${fault} are caught`, async (t) => {
    const server = await startServer(t, { workers })
    const options: TransfersOptions = { random: seededRandom(t), target: () => server, fault }
    const load = new Transfers(options)
    await load.start(server.client)
    await until('a wrong sum', async () => load.wrongPages.length > 0 || undefined)
    await load.stop()
    t.not((await load.faults(server.client)).length, 0, `${load.wrongPages.length} of ${load.pages} pages are wrong`)
  })
}

/** Sixteen clients increment a counter, each so many times, whatever the conflicts. */
async function count(t: Test, isCompared: boolean, times: number): Promise<number> {
  const server = await startServer(t, { workers })
  const counter = new Counter('counter', isCompared)
  await counter.create(server.client)
  const startMs = performance.now()
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      const client = server.connect(2)
      for (let left = times; left > 0; ) {
        const outcome = await counter.increment(client)
        if (outcome === 'done') left--
        else if (outcome !== 'conflict') throw new Error(`an increment: ${JSON.stringify(outcome)}`)
      }
    }),
  )
  const perSecond = (counter.done / (performance.now() - startMs)) * 1000
  t.comment(`${counter.done} increments, ${counter.conflicts} conflicts, ${perSecond.toFixed(0)} increments/s`)
  t.equal(counter.done, 16 * times)
  if (isCompared) t.ok(counter.conflicts > 10, 'there were conflicts')
  return 16 * times - (await counter.read(server.client))
}

t.test('a counter incremented by compare-and-set from sixteen clients loses nothing', async (t) => {
  t.equal(await count(t, true, 50), 0, 'lost increments')
})

t.test('without a constraint it does', async (t) => {
  t.not(await count(t, false, 50), 0, 'lost increments')
})
