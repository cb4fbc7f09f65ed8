/**
 * Batches and constraints over two hosts on one PostgreSQL. Transfers keep their sum in every page of both hosts while workers are killed,
 * and pages of one host show only whole batches of the other. TORTURE_SECONDS=60 runs longer.
 */
import { join } from 'node:path'
import t from 'tap'
import { watchSubtrees } from '../support/load/subtree-readers.js'
import { Transfers } from '../support/load/transfers.js'
import { seededRandom } from '../support/random.js'
import { type Server, startServer, until } from '../support/service/server.js'
import { postgres, skipReason } from '../support/stores/postgres.js'

const seconds = Number(process.env.TORTURE_SECONDS ?? 5)
const workers = 2

const engine = await postgres()
const options = { skip: engine === undefined && skipReason, timeout: (seconds + 600) * 1000 }

t.test('two hosts on one PostgreSQL show only complete batches', options, async (t) => {
  const store = await engine?.database()
  const directory = join(t.testdir(), 'hosts')
  const start = (host: number, token?: string): Promise<Server> => {
    const dataDir = join(directory, `host-${host}`)
    return startServer(t, { workers, store, dataDir, token, exitCode: undefined, check: false })
  }
  const first = await start(0)
  const second = await start(1, first.token)
  const hosts = [first, second]

  await t.test('readers on both hosts see complete batches', async (t) => {
    const { faults, pages, batches } = await watchSubtrees(first, hosts, seconds / 2)
    t.strictSame(faults, [], `${pages} pages during ${batches} batches`)
    t.ok(pages > 50, 'there was load')
  })

  await t.test('transfers and a counter stay exact while workers are killed', async (t) => {
    const random = seededRandom(t)
    const load = new Transfers({ random, target: (client) => hosts[client % 2] })
    await load.start(first.client)
    const endMs = performance.now() + seconds * 1000
    let killed = 0
    let killedAt = 0
    while (performance.now() < endMs || load.done < 50 || killed < 3) {
      await new Promise((resolve) => setTimeout(resolve, 100 + random.below(900)))
      // Kills in quick succession would leave no time to start a worker, and only stop the load.
      const pids = random.pick(hosts).workerPids()
      if (load.done === killedAt || pids.length === 0) continue
      killedAt = load.done
      process.kill(random.pick(pids), 'SIGKILL')
      killed++
    }
    await load.stop()
    for (const { adminUrl } of hosts)
      await until('all workers serve again', async () => (await fetch(`${adminUrl}/readyz`)).ok || undefined)
    t.comment(`${load.summary}; ${killed} workers killed`)
    t.strictSame(await load.faults(first.client), [], 'every sum and the counter are correct on one host')
    t.strictSame(await load.faults(second.client), [], 'every sum and the counter are correct on the other host')
    t.ok(load.conflicts > 5 && load.counter.done > 5 && load.pages > 50, 'there was load, and there were conflicts')
    const check = await first.command('check')
    t.equal(check.code, 0, `the store is sound: ${check.stdout}`)
  })
})
