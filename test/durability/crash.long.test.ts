/**
 * Workers and primaries that are killed under load lose no acknowledged write, make no read stale, and stall nobody who
 * survives. TORTURE_SECONDS=60 tortures for longer.
 */
import t from 'tap'
import { torture } from '../support/torture.js'

const seconds = Number(process.env.TORTURE_SECONDS ?? 10)
t.setTimeout((seconds + 90) * 1000)

const { load, server, workersKilled, primariesKilled } = await torture(t, { seconds })
t.strictSame(
  load.violations(),
  [],
  'every history is that of one copy: nothing lost, nothing stale, nothing resurrected',
)
// A second on a quiet machine.
t.ok(load.slowest.ms < 5000, `nobody who was answered waited long: ${load.slowest.ms.toFixed(0)} ms at most`)
t.ok(workersKilled > 1 && primariesKilled > 0, 'workers and primaries were killed')
t.ok(load.acknowledged > 10 * seconds, 'there was load')
t.strictSame([...load.refused.keys()], [], 'nothing but broken connections was seen of it')

const check = await server.command('check')
t.equal(check.code, 0, `the store is sound: ${check.stdout}`)
