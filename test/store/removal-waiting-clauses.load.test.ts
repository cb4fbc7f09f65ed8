/**
 * A sweep for due topics visits no waiting clause, so its cost does not depend on their number. It removes topics that are due in the
 * meantime.
 */

import { join } from 'node:path'
import t from 'tap'
import { planSelector } from '../../dist/selectors/planner.js'
import { openStore } from '../../dist/store/open.js'
import { medianOf } from '../support/elements.js'
import { creation, single } from '../support/stores/store.js'
import { eachStore } from '../support/stores/stores.js'

const clauses = 20_000
const sweeps = 15

/** The first sweep visits every policy, later sweeps visit none. Later sweeps that visited all of them took half as long as the first. */
const ratioMin = 10

/** Each clause scans the policies' own topics, so that only a few clauses end during the test. */
const removal = "when time after 0 remove '*guard/.*no-such-name.*'"

await eachStore(t, async (t, address) => {
  const store = await openStore(address, { directory: join(t.testdir(), 'db') })
  t.teardown(() => store.close())

  async function sweepMs(): Promise<number> {
    const startedAt = performance.now()
    const { nextMs = Infinity } = await store.removeDue(planSelector)
    const tookMs = performance.now() - startedAt
    if (nextMs > Date.now()) throw new Error(`no clause is waiting; the next topic is due at ${nextMs}`)
    return tookMs
  }

  const properties = { REMOVAL: removal }
  for (let added = 0; added < clauses; added += 1000) {
    const paths = Array.from({ length: 1000 }, (_, i) => `guard/${added + i}`)
    await Promise.all(paths.map((path) => single.add(store, creation(path, 'json', properties))))
  }
  const firstMs = await sweepMs()
  const laterMs: number[] = []
  while (laterMs.length < sweeps) laterMs.push(await sweepMs())
  const medianMs = medianOf(laterMs)
  const times = `the first took ${firstMs.toFixed()} ms, a later one ${medianMs.toFixed(1)} ms`
  t.ok(medianMs * ratioMin < firstMs, `later sweeps do not visit waiting clauses: ${times}`)
  await single.add(store, creation('plain', 'json', { REMOVAL: 'when time after 5' }))
  const { removed, nextMs = Infinity } = await store.removeDue(planSelector)
  t.equal(removed, 1, 'a topic that is due is removed')
  t.ok(nextMs <= Date.now(), 'clauses still wait')
})
