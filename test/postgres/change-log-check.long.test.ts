/** What `topicd check` finds in the log on PostgreSQL, and in the versions of topics: each planted damage, and no other. */

import t from 'tap'
import { planSelector } from '../../dist/selectors/planner.js'
import { openStore } from '../../dist/store/open.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute } from '../support/stores/postgres-cluster.js'
import { creation, single } from '../support/stores/store.js'

const engine = await postgres()
const skip = engine === undefined && skipReason

/** A lane that has changes. */
const used = '(select min(lane) from topicd.changes where count > 0)'
const lastNumber = `(select max(n) from topicd.changes where lane = ${used})`
const hourAhead = 'floor(extract(epoch from clock_timestamp()) * 1000 + 3600000)::bigint * 1024'

const damages: readonly (readonly [string, string, RegExp])[] = [
  [
    'a topic without a version',
    `update topicd.topics set version = 0 where item like '%t/3"%'`,
    /^topic "t\/3": its version is 0$/,
  ],
  [
    'a topic of the future',
    `update topicd.topics set version = ${hourAhead} where item like '%t/3"%'`,
    /^topic "t\/3": its version \d+ is later than the server's clock and the log$/,
  ],
  [
    'a row that is missing',
    `delete from topicd.changes where lane = ${used} and n = ${lastNumber} - 1`,
    /^log: row \d+ of lane \d+: the row before it is \d+$/,
  ],
  [
    'a lane that is missing',
    'delete from topicd.changes where lane = (select max(lane) from topicd.changes where n = 0 and version = (select max(version) from topicd.changes where n = 0))',
    /^log: lane \d+ has no row$/,
  ],
  [
    'a lane too many',
    `insert into topicd.changes (lane, n, version, count, total, keys) select 64, 0, 1, 0, 0, '{}'`,
    /^log: row 0 of lane 64: there is no such lane$/,
  ],
  [
    'versions out of order',
    `update topicd.changes set version = (select version from topicd.changes where lane = ${used} and n = 0) where lane = ${used} and n = 1`,
    /^log: row 1 of lane \d+: its version is not later than that of the row before it$/,
  ],
  [
    'keys that are missing',
    `update topicd.changes set keys = keys[2:] where lane = ${used} and n = 1`,
    /^log: row 1 of lane \d+: it has \d+ keys, not \d+$/,
  ],
  [
    'a total that is wrong',
    `update topicd.changes set total = total + 1 where lane = ${used} and n = ${lastNumber}`,
    /^log: row \d+ of lane \d+: its total does not count on$/,
  ],
  [
    'a change that is not in the log',
    `update topicd.changes set keys[1] = '\\x6e6f6e65' where count > 0 and keys[1] = (select key from topicd.topics where item like '%t/3"%')`,
    /^topic "t\/3": its change of version \d+ is not in the log$/,
  ],
]

await t.test('a check finds each damage of the log', { skip, timeout: 600_000 }, async (t) => {
  for (const [name, damage, finding] of damages) {
    const address = (await engine?.database()) ?? ''
    const store = await openStore(address, { directory: t.testdir() })
    try {
      for (let i = 0; i < 6; i++) await single.addAndSet(store, creation(`t/${i}`), Buffer.from('1'))
      const findings = async (): Promise<readonly string[]> => {
        const found: string[] = []
        await store.check((text) => found.push(text), planSelector)
        return found
      }
      t.strictSame(await findings(), [], `before: ${name}`)
      await execute(address, damage)
      const found = await findings()
      t.ok(found.length > 0 && found.some((text) => finding.test(text)), `${name}: ${found.join('; ')}`)
    } finally {
      await store.close()
    }
  }
})
