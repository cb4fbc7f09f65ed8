/**
 * A look for what is due costs the same however many clauses wait, since it meets none of them: held at the store, over
 * each engine.
 */

import { join } from 'node:path'
import t from 'tap'
import { openStore } from '../../dist/store/open.js'
import type { Path } from '../../dist/topics/path.js'
import { removalOf } from '../../dist/topics/properties.js'
import { medianOf } from '../support/only.js'
import { eachStore } from '../support/stores.js'

const clauses = 20_000
const looks = 15

/** The first look comes to every policy, a later one to none. One that came to all of them again took half as long. */
const ratioMin = 10

/** Each clause scans the policies' own topics, so that only a few are carried out meanwhile. */
const removal = "when time after 0 remove '*guard/.*no-such-name.*'"

await eachStore(t, async (t, address) => {
  const store = await openStore(address, { directory: join(t.testdir(), 'db') })
  t.teardown(() => store.close())

  async function lookMs(): Promise<number> {
    const startedAt = performance.now()
    const { nextMs = Infinity } = await store.removeDue()
    const tookMs = performance.now() - startedAt
    if (nextMs > Date.now()) throw new Error(`no clause waits any more; the next topic is due at ${nextMs}`)
    return tookMs
  }

  const properties = { REMOVAL: removal }
  for (let made = 0; made < clauses; made += 1000) {
    const paths = Array.from({ length: 1000 }, (_, i) => `guard/${made + i}` as Path)
    await Promise.all(
      paths.map((path) => store.add({ path, type: 'json', properties, removal: removalOf(properties) })),
    )
  }
  const firstMs = await lookMs()
  const laterMs: number[] = []
  while (laterMs.length < looks) laterMs.push(await lookMs())
  const medianMs = medianOf(laterMs)
  const words = `the first look took ${firstMs.toFixed()} ms, a later one ${medianMs.toFixed(1)} ms`
  t.ok(medianMs * ratioMin < firstMs, words)
})
