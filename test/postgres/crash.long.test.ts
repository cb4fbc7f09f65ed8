/**
 * Workers and primaries over PostgreSQL that are killed under load lose no acknowledged write and make no read stale, just
 * as over lmdb. TORTURE_SECONDS=60 tortures for longer.
 */
import t from 'tap'
import { postgres, skipReason } from '../support/postgres.js'
import { torture } from '../support/torture.js'

const seconds = Number(process.env.TORTURE_SECONDS ?? 8)
const server = await postgres()

await t.test(
  'killed over PostgreSQL',
  { skip: server === undefined && skipReason, timeout: (seconds + 90) * 1000 },
  async (t) => {
    const {
      load,
      server: last,
      workersKilled,
      primariesKilled,
    } = await torture(t, { seconds, store: await server?.database() })
    t.strictSame(
      load.violations(),
      [],
      'every history is that of one copy: nothing lost, nothing stale, nothing resurrected',
    )
    t.ok(workersKilled > 0, `${workersKilled} workers and ${primariesKilled} primaries were killed`)
    t.ok(load.acknowledged > 10, 'there was load')
    t.strictSame([...load.refused.keys()], [], 'nothing but broken connections was seen of it')
    const check = await last.command('check')
    t.equal(check.code, 0, `the store is sound: ${check.stdout}`)
  },
)
