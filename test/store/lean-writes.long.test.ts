/**
 * Topics without properties are overwritten in a way of their own: the item goes through a slab, its own version is the
 * condition, and nothing is read where the process knows the topic. Random operations (SEED=… replays them) on two
 * stores, of which one gives every topic a property without effect, so that all its writes take the general way: both
 * must have the same outcomes and the same items. Values of all sizes, wrong guesses and several writes in flight are
 * among them.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { itemInSlabBytesMax, slabBytes } from '../../dist/limits.js'
import { PlainTopics } from '../../dist/store/lmdb/plain-topics.js'
import type { TopicStore } from '../../dist/store/store.js'
import type { Path } from '../../dist/topics/path.js'
import type { Properties, TopicType } from '../../dist/topics/topic.js'
import { at } from '../support/elements.js'
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
  const found = await store.readTopic(path, 'json')
  const item = found === 'incompatible_type' ? await store.readTopic(path, 'string') : found
  return typeof item === 'string' ? item : Buffer.from(item).toString()
}

function openBoth(t: Test): { readonly lean: TopicStore; readonly general: TopicStore } {
  const directory = t.testdir()
  return { lean: openStore(t, join(directory, 'lean')), general: openStore(t, join(directory, 'general')) }
}

await t.test('random operations have the same outcomes and leave the same items both ways', async (t) => {
  const random = seededRandom(t)
  const { lean, general } = openBoth(t)
  const seen = new Map<string, number>()
  for (let number = 0; number < 1200; number++) {
    // Each of several paths at once, so that a commit holds writes of both ways, and no two of one topic.
    const operations = paths.filter(() => random.oneIn(3)).map((path) => randomOperation(random, path as Path, number))
    const outcomes = await Promise.all(operations.map((operation) => operation(lean, {})))
    t.same(await Promise.all(operations.map((operation) => operation(general, inert))), outcomes, `step ${number}`)
    for (const outcome of outcomes) seen.set(String(outcome), (seen.get(String(outcome)) ?? 0) + 1)
    const path = random.pick(paths) as Path
    t.equal(await itemAt(lean, path), await itemAt(general, path), `step ${number}: ${path}`)
    if (random.oneIn(50)) {
      const counts = [lean, general].map((store) => store.removeMatches(planned('?a//'), waiting))
      t.equal(await counts[0], await counts[1], `step ${number}: a bulk removal, which leaves wrong guesses`)
    }
  }
  for (const outcome of ['set', 'created', 'updated', 'present', 'no_such_topic', 'incompatible_type', 'true', 'false'])
    t.ok((seen.get(outcome) ?? 0) > 20, `${outcome} was among the outcomes`)
  t.ok((seen.get('incompatible_properties') ?? 0) > 5, 'incompatible_properties was among the outcomes')
})

await t.test('a known topic is written without a read, and a wrong guess only costs a write more', async (t) => {
  const { lean } = openBoth(t)
  const path = 'known' as Path
  const [first, second] = [Buffer.from('1'), Buffer.from('2')]
  /** What `work` resolves with, and how many writes were passed to lmdb for it. */
  const counted = async <T>(work: () => Promise<T>): Promise<readonly [T, number | undefined]> => {
    const before = lean.commits?.writes ?? Number.NaN
    const outcome = await work()
    return [outcome, (lean.commits?.writes ?? Number.NaN) - before]
  }
  const create = async (type: TopicType = 'json', properties: Properties = {}): Promise<void> => {
    t.equal(await single.add(lean, creation('known', type, properties)), 'created')
  }
  // A bulk removal does not tell what it removes, as other processes do not: the guess remains, and is wrong.
  const removeUnseen = async (): Promise<void> => {
    await single.addAndSet(lean, creation('known'), first)
    t.equal(await lean.removeMatches(planned('?known'), waiting), 1)
  }
  t.same(await counted(() => single.set(lean, path, 'json', second)), ['no_such_topic', 0], 'unknown: a read decides')
  await removeUnseen()
  t.same(
    await counted(() => single.set(lean, path, 'json', second)),
    ['no_such_topic', 1],
    'known: a write is tried first',
  )
  t.same(await counted(() => single.set(lean, path, 'json', second)), ['no_such_topic', 0], 'and not again')
  await removeUnseen()
  t.same(await counted(() => single.remove(lean, path)), [false, 1])
  await removeUnseen()
  t.same(await counted(() => single.addAndSet(lean, creation('known'), second)), ['created', 2])
  t.same(await counted(() => single.addAndSet(lean, creation('known'), first)), ['updated', 1])
  await single.remove(lean, path)
  await removeUnseen()
  await create('string')
  t.same(await counted(() => single.set(lean, path, 'json', second)), ['incompatible_type', 1])
  await single.remove(lean, path)
  await removeUnseen()
  await create('json', { DONT_RETAIN_VALUE: 'true' })
  t.same(await counted(() => single.set(lean, path, 'json', second)), ['set', 1], 'it does not retain values')
  t.equal(await itemAt(lean, path), '{"path":"known","type":"json"}')
})

await t.test('the table of known topics tells types apart, forgets, and has room for many', (t) => {
  const known = new PlainTopics()
  const path = 'a/b' as Path
  t.notOk(known.has(path, 'json'))
  known.add(path, 'json')
  t.ok(known.has(path, 'json'))
  t.notOk(known.has(path, 'string'), 'of the other type')
  known.delete(path, 'string')
  t.ok(known.has(path, 'json'), 'the other type was forgotten')
  known.delete(path, 'json')
  t.notOk(known.has(path, 'json'))
  const many = Array.from({ length: 20_000 }, (_, i) => `prices/${i}` as Path)
  for (const each of many) known.add(each, 'json')
  const found = many.filter((each) => known.has(each, 'json')).length
  t.ok(found > 0.9 * many.length, `${found} of ${many.length} are known`)
  const others = many.filter((each) => known.has(`other/${each}` as Path, 'json')).length
  t.ok(others < 20, `${others} of ${many.length} others seem known`)
  t.ok(known.has(at(many, -1), 'json'))
  t.end()
})
