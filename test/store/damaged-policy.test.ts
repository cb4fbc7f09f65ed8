/**
 * A topic whose stored REMOVAL cannot be read concerns its own requests alone: each fails as a whole, all others are
 * carried out, due topics are removed, and the topic itself can be.
 */

import { join } from 'node:path'
import t, { type Test } from 'tap'
import { planSelector } from '../../dist/selectors/planner.js'
import { openEnvironment } from '../../dist/store/lmdb/environment/environment.js'
import { openLmdbStore } from '../../dist/store/lmdb/open.js'
import type { Finding } from '../../dist/store/maintenance.js'
import type { TopicStore } from '../../dist/store/store.js'
import { storedForms, type WriteOperation } from '../../dist/store/topics.js'
import type { Path } from '../../dist/topics/path.js'
import { Clocks } from '../support/clocks.js'
import { present } from '../support/elements.js'
import { creation, single } from '../support/stores/store.js'

const minute = 60_000
const value = Buffer.from('1')
const damaged = 'damaged' as Path
const unreadable = /properties are checked before they are used/

/** A store with three topics that are due in a minute, one of which is damaged. */
async function openDamaged(t: Test, clocks: Clocks): Promise<TopicStore> {
  const directory = join(t.testdir(), 'db')
  const store = openLmdbStore({ directory, clock: clocks.read })
  for (const path of ['before', damaged, 'too'])
    await single.addAndSet(store, creation(path, 'json', { REMOVAL: 'when no updates for 1m' }), value)
  await single.addAndSet(store, creation('plain'), value)
  await store.close()
  const { root, specifications } = openEnvironment(directory)
  const record = present(specifications.get(damaged)).toString()
  await specifications.put(damaged, Buffer.from(record.replace('when no', 'whem no')), 1)
  await root.close()
  const opened = openLmdbStore({ directory, clock: clocks.read })
  t.teardown(() => opened.close())
  return opened
}

t.test('a topic with a damaged policy fails its own requests alone', async (t) => {
  const clocks = new Clocks()
  const store = await openDamaged(t, clocks)
  const set = (path: Path): WriteOperation => ({ kind: 'set', path, type: 'json', valueText: Buffer.from('2') })
  const there = async (path: string): Promise<boolean> =>
    typeof (await store.readTopic(path as Path, storedForms.json)) !== 'string'

  const addNew: WriteOperation = { kind: 'addAndSet', ...creation('new'), valueText: value }
  const [failed, other] = await Promise.allSettled([
    store.write([addNew, set(damaged)]),
    store.write([set('plain' as Path)]),
  ])
  t.match(failed, { status: 'rejected', reason: { message: unreadable } })
  t.strictSame(other, { status: 'fulfilled', value: ['set'] }, 'another request of the same commit is carried out')
  t.notOk(await there('new'), 'nothing of the failed one is')

  clocks.pass(2 * minute)
  await t.rejects(store.removeDue(planSelector), { message: unreadable }, 'the sweep says so')
  t.strictSame(await Promise.all(['before', 'too', damaged].map(there)), [false, false, true], 'and removes the others')

  t.equal(await single.remove(store, damaged), true, 'it can be removed')
  await store.removeDue(planSelector)
  const findings: Finding[] = []
  await store.check((finding) => findings.push(finding), planSelector)
  t.strictSame(findings, [], 'the store is sound again')
})
