/**
 * Topics that are due at the same moment have entries of their own in what is due, in stores of earlier programs too,
 * which numbered these entries otherwise.
 */

import { join } from 'node:path'
import t, { type Test } from 'tap'
import { planSelector } from '../../dist/selectors/planner.js'
import { openEnvironment } from '../../dist/store/lmdb/environment/environment.js'
import { numberRecord } from '../../dist/store/lmdb/environment/number-record.js'
import { openLmdbStore } from '../../dist/store/lmdb/open.js'
import { Clocks } from '../support/clocks.js'
import { creation, findingsOf, single } from '../support/stores/store.js'

const minute = 60_000
const topics = 1000
const value = Buffer.from('1')

/** Creates topics that are due at one moment, checks the store, and has them removed. */
async function removeAll(t: Test, directory: string): Promise<void> {
  const clocks = new Clocks()
  const store = openLmdbStore({ directory, clock: clocks.read })
  const create = (i: number): Promise<unknown> =>
    single.addAndSet(store, creation(`t/${i}`, 'json', { REMOVAL: 'when no updates for 1m' }), value)
  await Promise.all(Array.from({ length: topics }, (_, i) => create(i)))
  const findings = await findingsOf(store)
  t.strictSame(findings, [], 'the store is sound')
  clocks.pass(2 * minute)
  t.equal((await store.removeDue(planSelector)).removed, topics, 'each is removed')
  await store.close()
}

t.test('many topics that are due at the same moment are each removed', (t) => removeAll(t, join(t.testdir(), 'db')))

t.test('numbers begin behind those of an earlier program', async (t) => {
  const directory = join(t.testdir(), 'db')
  const { root, meta, nextDueNumber } = openEnvironment(directory)
  const blockSize = 2 ** 28
  await meta.put('stretch', numberRecord(7))
  const taken = await root.transaction(() => [nextDueNumber(), nextDueNumber()])
  t.strictSame(taken, [8 * blockSize + 1, 8 * blockSize + 2])
  await root.close()
  await removeAll(t, directory)
})
