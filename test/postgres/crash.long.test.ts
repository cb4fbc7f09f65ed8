/**
 * Kills of workers and primaries under load over PostgreSQL lose no acknowledged write and cause no stale read, as over lmdb.
 * TORTURE_SECONDS=60 runs longer.
 */
import t from 'tap'
import { torture } from '../support/faults/torture.js'
import { postgres, skipReason } from '../support/stores/postgres.js'

const seconds = Number(process.env.TORTURE_SECONDS ?? 4)
const engine = await postgres()
const options = { skip: engine === undefined && skipReason, timeout: (seconds + 600) * 1000 }

await t.test('with PostgreSQL, killing processes under load loses no acknowledged write', options, async (t) => {
  const { load, server, workersKilled, primariesKilled, faults } = await torture(t, {
    seconds,
    store: await engine?.database(),
  })
  t.strictSame(load.violations(), [], 'every history is linearizable: nothing lost, nothing stale, nothing resurrected')
  t.strictSame(faults, [], 'no page has a part of a batch, no version decreases, and commands succeed')
  t.ok(workersKilled > 0, `${workersKilled} workers and ${primariesKilled} primaries were killed`)
  t.ok(load.acknowledged > 10, 'there was load')
  t.strictSame([...load.refused.keys()], [], 'clients saw no failure except broken connections')
  const check = await server.command('check')
  t.equal(check.code, 0, `the store is sound: ${check.stdout}`)
})
