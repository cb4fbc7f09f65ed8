/**
 * Topics without properties are written in a way of their own: their items say that there are none, so no specification
 * is read. Random operations (SEED=… replays them) on two stores, of which one gives every topic a property without
 * effect, so that all its writes take the general way: both must have the same outcomes and the same items. Values of
 * all sizes and several writes in flight are among them.
 */

import { join } from 'node:path'
import t, { type Test } from 'tap'
import { itemInSlabBytesMax, slabBytes } from '../../dist/store/lmdb/write/slab.js'
import type { TopicStore } from '../../dist/store/store.js'
import { storedForms } from '../../dist/store/topics.js'
import type { Path } from '../../dist/topics/path.js'
import type { Properties, TopicType } from '../../dist/topics/topic.js'
import { type Random, seededRandom } from '../support/random.js'
import { creation, openStore, planned, single, waiting } from '../support/stores/store.js'

const paths = ['a', 'a/b', 'a/b/c', 'ä', 'a/"quoted"/\u{1f600}', 'z']
const types: readonly TopicType[] = ['json', 'string']

/** What makes every write of a topic take the general way, and has no effect. */
const inert: Properties = { note: 'general' }

type Operation = (store: TopicStore, extra: Properties) => Promise<unknown>

/** A value that differs from all others, most often a small one, sometimes as large as a slab. */
function randomValue(random: Random, number: number): Buffer {
  const bytes = random.pick([10, 10, 100, 1000, itemInSlabBytesMax - 40, itemInSlabBytesMax, slabBytes / 4, slabBytes])
  return Buffer.from(JSON.stringify(`${number}-${'x'.repeat(random.below(bytes))}`))
}

function randomOperation(random: Random, path: Path, number: number): Operation {
  const type = random.oneIn(8) ? random.pick(types) : 'json'
  const properties: Properties = random.oneIn(8) ? { DONT_RETAIN_VALUE: random.pick(['true', 'false']) } : {}
  const value = randomValue(random, number)
  switch (random.below(8)) {
    case 0:
      return (store) => single.remove(store, path)
    case 1:
      return (store, extra) => single.add(store, creation(path, type, { ...extra, ...properties }))
    case 2:
    case 3:
      return (store) => single.set(store, path, type, value)
    default:
      return (store, extra) => single.addAndSet(store, creation(path, type, { ...extra, ...properties }), value)
  }
}

/** The item at a path, of either type, as text. */
async function itemAt(store: TopicStore, path: Path): Promise<string> {
  const found = await store.readTopic(path, storedForms.json)
  const item = found === 'incompatible_type' ? await store.readTopic(path, storedForms.string) : found
  return typeof item === 'string' ? item : Buffer.from(item).toString()
}

function openBoth(t: Test): { readonly plain: TopicStore; readonly general: TopicStore } {
  const directory = t.testdir()
  return { plain: openStore(t, join(directory, 'plain')), general: openStore(t, join(directory, 'general')) }
}

await t.test('random operations have the same outcomes and leave the same items both ways', async (t) => {
  const random = seededRandom(t)
  const { plain, general } = openBoth(t)
  const seen = new Map<string, number>()
  for (let number = 0; number < 1200; number++) {
    // Each of several paths at once, so that a commit holds writes of both ways, and no two of one topic.
    const operations = paths.filter(() => random.oneIn(3)).map((path) => randomOperation(random, path as Path, number))
    const outcomes = await Promise.all(operations.map((operation) => operation(plain, {})))
    t.same(await Promise.all(operations.map((operation) => operation(general, inert))), outcomes, `step ${number}`)
    for (const outcome of outcomes) seen.set(String(outcome), (seen.get(String(outcome)) ?? 0) + 1)
    const path = random.pick(paths) as Path
    t.equal(await itemAt(plain, path), await itemAt(general, path), `step ${number}: ${path}`)
    if (random.oneIn(50)) {
      const counts = [plain, general].map((store) => store.removeMatches(planned('?a//'), waiting))
      t.equal(await counts[0], await counts[1], `step ${number}: a bulk removal`)
    }
  }
  for (const outcome of ['set', 'created', 'updated', 'present', 'no_such_topic', 'incompatible_type', 'true', 'false'])
    t.ok((seen.get(outcome) ?? 0) > 20, `${outcome} was among the outcomes`)
  t.ok((seen.get('incompatible_properties') ?? 0) > 5, 'incompatible_properties was among the outcomes')
})
