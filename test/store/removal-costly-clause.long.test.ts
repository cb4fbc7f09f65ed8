/**
 * A stored REMOVAL clause that requests may no longer contain because it costs too much to plan. The store opens, `check` names the topic,
 * and a backup succeeds. The clause removes nothing and is logged; other clauses are executed.
 */
import { join } from 'node:path'
import t from 'tap'
import { ExpirySweeper } from '../../dist/cluster/expiry-sweeper.js'
import type { Logger } from '../../dist/ops/log.js'
import { planSelector } from '../../dist/selectors/planner.js'
import { openStore } from '../../dist/store/open.js'
import { until } from '../support/service/server.js'
import { creation, load, planned, readItems, single } from '../support/stores/store.js'
import { eachStore } from '../support/stores/stores.js'

const costly = `*u${'[\\pL\\PN]'.repeat(500)}`

await eachStore(t, async (t, address) => {
  t.match(planSelector(costly), { problem: /^exceeds the planning limit/ })
  const options = { directory: join(t.testdir(), 'db') }
  const first = await openStore(address, options)
  const removing = (selector: string) => ({
    REMOVAL: `when time after 0 remove '${selector.replaceAll('\\', '\\\\')}'`,
  })
  await load(first, ['u', 'uL1', 'other/1'])
  await single.add(first, creation('guard/1', 'json', removing(costly)))
  await single.add(first, creation('guard/2', 'json', removing('*other//')))
  await first.close()
  const store = await openStore(address, options)
  const findings: string[] = []
  const { records } = await store.check((finding) => findings.push(finding), planSelector)
  t.match(findings, [
    /^topic "guard\/1": the remove clause of its REMOVAL removes nothing because its selector exceeds the planning limit/,
  ])
  t.equal(findings.length, 1)
  if (address === 'lmdb')
    t.match(await store.backup?.(join(t.testdirName, 'copy'), 0, () => {}, { aborted: false }), { records })

  const lines: Record<string, unknown>[] = []
  const log = Object.fromEntries(
    ['info', 'warn', 'error'].map((level) => [level, (members: object) => lines.push({ level, ...members })]),
  )
  const sweeper = new ExpirySweeper(store, log as unknown as Logger)
  t.teardown(() => sweeper.enable(false))
  sweeper.enable(true)
  await until('both clauses are executed', async () => lines.length >= 2 || undefined)
  sweeper.enable(false)
  const refused = lines.find(({ level }) => level === 'warn')
  t.match(refused, { topic: 'guard/1', reason: /^its selector exceeds the planning limit/ })
  t.match(
    lines.find(({ level }) => level === 'info'),
    { removed: 1 },
  )
  t.equal(lines.length, 2)
  const { items } = await readItems(store, { plan: planned('?.*//') })
  t.equal(items.map(({ path }) => path).join(), 'guard/1,guard/2,u,uL1')
  await store.close()
})
