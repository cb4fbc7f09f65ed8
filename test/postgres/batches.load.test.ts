/**
 * Batches and constraints over two hosts on one PostgreSQL: transfers keep their sum in every page of both hosts while
 * workers are killed, and pages of one host hold whole batches of the other. TORTURE_SECONDS=60 runs longer.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { at } from '../support/elements.js'
import { patchedProgram } from '../support/faults/patched.js'
import { watchSubtrees } from '../support/load/subtree-readers.js'
import { Transfers } from '../support/load/transfers.js'
import { halvedBatches } from '../support/load/uniform-subtrees.js'
import { seededRandom } from '../support/random.js'
import { type Server, startServer, until } from '../support/service/server.js'
import { postgres, skipReason } from '../support/stores/postgres.js'

const seconds = Number(process.env.TORTURE_SECONDS ?? 10)
const workers = 2

const engine = await postgres()
const options = { skip: engine === undefined && skipReason, timeout: (seconds + 120) * 1000 }

async function startHosts(t: Test, program?: string): Promise<readonly Server[]> {
  const store = await engine?.database()
  const directory = join(t.testdir(), 'hosts')
  const start = (host: number, token?: string): Promise<Server> =>
    startServer(t, {
      workers,
      store,
      program,
      dataDir: join(directory, `host-${host}`),
      token,
      exitCode: undefined,
      check: false,
    })
  const host = await start(0)
  return [host, await start(1, host.token)]
}

t.test(
  'transfers over two hosts keep the sum, and a counter its count, while workers are killed',
  options,
  async (t) => {
    const random = seededRandom(t)
    const hosts = await startHosts(t)
    const load = new Transfers({ random, target: (client) => hosts[client % 2] })
    await load.start(at(hosts, 0).client)
    const endMs = performance.now() + seconds * 1000
    let killed = 0
    let killedAt = 0
    while (performance.now() < endMs || load.done < 50 || killed < 3) {
      await new Promise((resolve) => setTimeout(resolve, 100 + random.below(900)))
      // Kills that leave no time between them to start a worker would only stop the load.
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
    t.strictSame(await load.faults(at(hosts, 0).client), [], 'every sum and the counter are right on one host')
    t.strictSame(await load.faults(at(hosts, 1).client), [], 'and on the other')
    t.ok(load.conflicts > 5 && load.counter.done > 5 && load.pages > 50, 'there was load, and there were conflicts')
    const check = await at(hosts, 0).command('check')
    t.equal(check.code, 0, `the store is sound: ${check.stdout}`)
  },
)

t.test('readers on both hosts see whole batches', options, async (t) => {
  const hosts = await startHosts(t)
  const { faults, pages, batches } = await watchSubtrees(at(hosts, 0), hosts, seconds / 2)
  t.strictSame(faults, [], `${pages} pages beside ${batches} batches`)
  t.ok(pages > 50, 'there was load')
})

t.test('readers beside batches in two halves see parts', options, async (t) => {
  const program = patchedProgram(join(t.testdir(), 'halved'), 'store/postgres/write/batches.js', halvedBatches)
  await t.test('under load', async (t) => {
    const hosts = await startHosts(t, program)
    const { faults, pages, batches } = await watchSubtrees(at(hosts, 0), hosts, 60)
    t.not(faults.length, 0, `${pages} pages beside ${batches} batches`)
  })
})
