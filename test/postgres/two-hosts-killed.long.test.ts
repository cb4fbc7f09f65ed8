/**
 * Two hosts on one PostgreSQL are killed at random times under load. No acknowledged write is lost, and each host shows the writes that the
 * other has acknowledged. TORTURE_SECONDS=60 runs longer.
 */

import { join } from 'node:path'
import t from 'tap'
import { at } from '../support/elements.js'
import type { Target } from '../support/load/follow.js'
import { Load } from '../support/load/load.js'
import { seededRandom } from '../support/random.js'
import { type Server, startServer } from '../support/service/server.js'
import { postgres, skipReason } from '../support/stores/postgres.js'

const seconds = Number(process.env.TORTURE_SECONDS ?? 5)

/** Time for which a connection stays with a host, in ms: long enough for several requests, short enough to use both hosts. */
const stayMs = 300

const engine = await postgres()
const options = { skip: engine === undefined && skipReason, timeout: (seconds + 600) * 1000 }

await t.test('two hosts killed under load lose no acknowledged write', options, async (t) => {
  const random = seededRandom(t)
  const store = await engine?.database()
  const targets: (Target | undefined)[] = [undefined, undefined]
  const directory = t.testdir()
  let token: string | undefined

  async function start(host: number): Promise<Server> {
    const dataDir = join(directory, `host-${host}`)
    const server = await startServer(t, { workers: 2, store, dataDir, token, exitCode: undefined, check: false })
    token = server.token
    targets[host] = { url: server.url, token }
    return server
  }

  const hosts = [await start(0), await start(1)]
  const load = new Load({
    connections: 24,
    topics: 20,
    random,
    target: (connection) => targets[(connection + Math.floor(performance.now() / stayMs)) % 2],
  })
  load.start()
  const endMs = performance.now() + seconds * 1000
  let killed = 0
  while (performance.now() < endMs || killed < 2) {
    await new Promise((resolve) => setTimeout(resolve, 100 + random.below(900)))
    const host = random.below(2)
    process.kill(at(hosts, host).pid, 'SIGKILL')
    killed++
    await at(hosts, host).exited
    targets[host] = undefined
    hosts[host] = await start(host)
  }
  await load.stop()
  await load.readAll(at(hosts, 0).client)
  await load.readAll(at(hosts, 1).client)
  t.comment(
    `${load.acknowledged} writes acknowledged, ${load.conflicts} conflicts, ${load.reads} reads, ` +
      `${load.unanswered} without a response, ` +
      `refused ${JSON.stringify(Object.fromEntries(load.refused))}, ${killed} hosts killed, ` +
      `slowest response ${load.slowest.ms.toFixed(0)} ms (${load.slowest.route})`,
  )
  t.strictSame(load.violations(), [], 'every history is linearizable: nothing lost, nothing stale, nothing resurrected')
  t.strictSame(load.versionFaults(), [], 'no version decreases, and each has one value')
  t.ok(load.acknowledged > 10 && killed > 1, 'there was load, and hosts were killed')
  t.strictSame([...load.refused.keys()], [], 'clients saw no failure except broken connections')
  const check = await at(hosts, 0).command('check')
  t.equal(check.code, 0, `the store is sound: ${check.stdout}`)
})
