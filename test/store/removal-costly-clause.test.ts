/**
 * A stored REMOVAL clause that no request may bring any more, because it costs too much to plan: the store opens, the
 * clause is executed as one that matches nothing, and others are executed.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { planSelector } from '../../dist/selectors/planner.js'
import { openStore } from '../../dist/store/open.js'
import { creation, load, planned, readItems } from '../support/store.js'
import { eachStore } from '../support/stores.js'

const costly = `*u${'[\\pL\\PN]'.repeat(500)}`

await eachStore(t, async (t, address) => {
  t.match(planSelector(costly), { problem: /^takes more work to plan/ })
  const options = { directory: join(t.testdir(), 'db') }
  const first = await openStore(address, options)
  const removing = (selector: string) => ({
    REMOVAL: `when time after 0 remove '${selector.replaceAll('\\', '\\\\')}'`,
  })
  await load(first, ['u', 'uL1', 'other/1'])
  await first.add(creation('guard/1', 'json', removing(costly)))
  await first.add(creation('guard/2', 'json', removing('*other//')))
  await first.close()
  const store = await openStore(address, options)
  let removed = 0
  for (let i = 0; i < 1000 && removed < 1; i++) {
    removed += (await store.removeDue()).removed
    await sleep(10)
  }
  t.equal(removed, 1)
  const { items } = await readItems(store, { plan: planned('?.*//') })
  t.equal(items.map(({ path }) => path).join(), 'guard/1,guard/2,u,uL1')
  await store.close()
})
