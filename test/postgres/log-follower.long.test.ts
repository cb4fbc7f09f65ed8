/** Followers of the log on PostgreSQL are notified of every growth and of an engine that is down. Without followers, nothing is read. */
import t from 'tap'
import type { Execute } from '../../dist/store/postgres/sql/statement.js'
import { LogFollower } from '../../dist/store/postgres/view/follower.js'
import { eventually } from '../support/turns.js'

/** A commit of this process. */
const record = { version: 3, total: 3, keys: Buffer.alloc(0), before: { version: 2, total: 2 } }

/** A simulated engine, whose log is just its last version. */
function simulate() {
  const engine = { log: 1, reads: 0, isAway: false }
  const read: Execute = async <Row>() => {
    engine.reads++
    if (engine.isAway) throw new Error('away')
    return [{ version: String(engine.log) }] as Row[]
  }
  return { engine, follower: new LogFollower(read) }
}

t.test('followers are notified of all commits and of an engine that is down', async (t) => {
  const { engine, follower } = simulate()
  let told = 0
  const stop = follower.follow(() => told++)
  await eventually(() => told === 1)
  engine.log++
  await eventually(() => told === 2)
  engine.log++
  follower.committed(record)
  await eventually(() => told === 3)
  engine.isAway = true
  await eventually(() => told > 4)
  engine.isAway = false
  stop()
  const { reads } = engine
  follower.committed(record)
  // In the meantime, another follower reads as often as this one would.
  const other = simulate()
  t.teardown(other.follower.follow(() => {}))
  await eventually(() => other.engine.reads > 3)
  t.ok(engine.reads <= reads + 1, 'nothing is read without a follower')
  let again = 0
  const stopAgain = follower.follow(() => again++)
  await eventually(() => again > 0)
  follower.close()
  stopAgain()
  t.pass('a later follower is notified immediately')
})
