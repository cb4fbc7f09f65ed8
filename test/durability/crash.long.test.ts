/**
 * When workers and primaries are killed under load, no acknowledged write is lost, no read is stale, no page has a part
 * of a batch, no command fails beside a service that lives, and no answer of the survivors takes long.
 * TORTURE_SECONDS=60 runs longer.
 */
import t from 'tap'
import { reportFigures } from '../support/figures.js'
import { torture } from '../support/torture.js'

const seconds = Number(process.env.TORTURE_SECONDS ?? 10)
t.setTimeout((seconds + 90) * 1000)

await t.test('killed workers and primaries lose nothing that was acknowledged', async (t) => {
  const { load, server, workersKilled, primariesKilled, faults, figures } = await torture(t, { seconds })
  reportFigures(t, figures)
  t.strictSame(load.violations(), [], 'every history is linearizable: nothing lost, nothing stale, nothing resurrected')
  t.strictSame(faults, [], 'no page has a part of a batch, and commands succeed')
  // On a quiet machine it is a second at most.
  t.ok(load.slowest.ms < 5000, `no answer took long: ${load.slowest.ms.toFixed(0)} ms at most`)
  t.ok(workersKilled > 1 && primariesKilled > 0, 'workers and primaries were killed')
  t.ok(load.acknowledged > 10 * seconds, 'there was load')
  t.strictSame([...load.refused.keys()], [], 'clients saw no failure except broken connections')

  const check = await server.command('check')
  t.equal(check.code, 0, `the store is sound: ${check.stdout}`)
})
