/**
 * Batches of operations, with and without constraints, on each engine and over a link to a writer. Random batches (SEED=… replays them)
 * have the outcomes of the model, both one at a time and concurrently. A returned version is the one that the topic then has.
 */

import { join } from 'node:path'
import t, { type Test } from 'tap'
import { outcomeText } from '../../dist/api/operations.js'
import { isRefusal, isRefused, isVersioned } from '../../dist/store/core/write/batch.js'
import { openStore } from '../../dist/store/open.js'
import type { TopicStore } from '../../dist/store/store.js'
import { refusals, type WriteOperation, type WriteOutcome, type WriteRefusal } from '../../dist/store/topics.js'
import type { Constraint } from '../../dist/topics/constraint.js'
import type { Path } from '../../dist/topics/path.js'
import type { Properties, TopicType } from '../../dist/topics/topic.js'
import { at } from '../support/elements.js'
import { type Members, Model } from '../support/models/model.js'
import { type Random, seededRandom } from '../support/random.js'
import { WriterHost } from '../support/stores/lmdb-writer.js'
import { creation, findingsOf, planned, readItems, single, versionShown, waiting } from '../support/stores/store.js'
import { eachStore } from '../support/stores/stores.js'

const paths = ['a', 'a/b', 'ä/€', '𝄞', 'z/"'] as const
const long = [16_384, 90_000, 262_144].map((bytes) => JSON.stringify('x'.repeat(bytes)))
const values = ['1', '1.0', '{"x": 1}', '"€"', '[1 , 2]', '-3', ...long]
const properties: readonly Properties[] = [
  {},
  {},
  {},
  { note: 'x' },
  JSON.parse('{"__proto__": "own"}') as Properties,
  { DONT_RETAIN_VALUE: 'true' },
  { REMOVAL: 'when no updates for 1d' },
]

function randomConstraint(random: Random): Constraint | undefined {
  switch (random.below(20)) {
    case 0:
      return { kind: 'no_topic' }
    case 1:
      return { kind: 'no_value' }
    case 2:
      // A version that no topic has; store/contract tests versions that match.
      return { kind: 'version', version: random.below(2) }
    case 3:
    case 4:
      return { kind: 'value', text: Buffer.from(random.pick(values).replaceAll(' ', random.pick(['', ' ']))) }
    default:
      return undefined
  }
}

function randomOperation(random: Random): WriteOperation {
  const path = random.pick(paths) as Path
  const type: TopicType = random.oneIn(20) ? 'string' : 'json'
  const text = Buffer.from(type === 'string' ? '"text"' : random.pick(values))
  const constraint = randomConstraint(random)
  const base = { path, constraint, wantsVersion: random.oneIn(2) }
  switch (random.below(7)) {
    case 6:
      return { ...base, kind: 'increment', type, valueText: Buffer.from(random.pick(['1', '-2', '0.5'])) }
    case 0:
      return { ...base, kind: 'remove', valueText: undefined }
    case 1:
      return {
        ...base,
        kind: 'add',
        ...creation(path, type, random.pick(properties)),
        valueText: undefined,
      }
    case 2:
      return { ...base, kind: 'set', type, valueText: text }
    default:
      return {
        ...base,
        kind: 'addAndSet',
        ...creation(path, type, random.pick(properties)),
        valueText: text,
      }
  }
}

/** An operation as a request. */
function membersOf({ path, type, valueText, properties, constraint, wantsVersion }: WriteOperation): Members {
  const condition = constraint && conditionOf(constraint)
  return {
    path,
    ...(type === undefined ? {} : { type }),
    ...(valueText === undefined ? {} : { value: Buffer.from(valueText).toString() }),
    ...(properties === undefined ? {} : { properties }),
    ...(condition === undefined ? {} : { constraint: condition }),
    ...(wantsVersion === undefined ? {} : { with_version: wantsVersion }),
  }
}

function conditionOf(constraint: Constraint): Members['constraint'] {
  if (constraint.kind === 'value') return { value: Buffer.from(constraint.text).toString() }
  if (constraint.kind === 'version') return { version: constraint.version }
  return constraint.kind === 'no_topic' ? { no_topic: true } : { no_value: true }
}

/** The model's outcome of an operation, and the actual one. A version must be greater than all before it. */
function answersOf(model: Model, operation: WriteOperation, outcome: WriteOutcome | WriteRefusal) {
  const { kind, path } = operation
  const told = isVersioned(outcome) ? outcome.change.version : undefined
  const expected = model.perform(kind, membersOf(operation), told)
  const isChange = isVersioned(outcome) && outcome.effect !== 'present'
  const wrong = isChange ? model.learn(path, outcome.change.version) : undefined
  const found = wrong ?? (isRefusal(outcome) ? outcome : outcomeText(path, outcome))
  return { expected: expected.status === 200 ? expected.text : expected.code, found }
}

/** Every topic of the store, and of the model, in a form that can be compared. */
async function storedTopics(store: TopicStore): Promise<readonly string[]> {
  const found: string[] = []
  for await (const { path, type, properties, valueText } of store.walk(planned('*.*'), waiting)) {
    found.push(JSON.stringify([path, type, properties, valueText && Buffer.from(valueText).toString()]))
  }
  return found.sort()
}

function modelTopics({ topics }: Model): readonly string[] {
  return [...topics]
    .map(([path, { type, properties, value }]) => JSON.stringify([path, type, properties, value]))
    .sort()
}

async function randomBatches(
  t: Test,
  store: TopicStore,
  writerOf: (round: number) => Pick<TopicStore, 'write'> = () => store,
): Promise<void> {
  const random = seededRandom(t)
  let model = new Model()
  const rounds = 200
  let count = 0
  let refused = 0
  const seen = new Set<string>()
  for (let round = 0; round < rounds; round++) {
    // Batches sent together take effect in this order, most of them in one commit.
    const batches = Array.from({ length: 1 + random.below(4) }, () => ({
      operations: Array.from({ length: 1 + random.below(6) }, () => randomOperation(random)),
      isAtomic: !random.oneIn(4),
    }))
    const writer = writerOf(round)
    const results = await Promise.all(batches.map(({ operations, isAtomic }) => writer.write(operations, isAtomic)))
    for (const [i, result] of results.entries()) {
      const { operations, isAtomic } = at(batches, i)
      count++
      const trial = model.copy()
      if (isRefused(result)) {
        refused++
        const done = operations.slice(0, result.index + 1).map((each) => trial.perform(each.kind, membersOf(each)))
        t.match(done.pop(), { code: result.refusal }, `round ${round}`)
        t.ok(isAtomic && done.every(({ status }) => status === 200), 'the first refusal')
        seen.add(result.refusal)
        continue
      }
      model = trial
      for (const [index, outcome] of result.entries()) {
        const { expected, found } = answersOf(model, at(operations, index), outcome)
        if (found !== expected) t.equal(found, expected, `round ${round}`)
        const effect = isVersioned(outcome) ? outcome.effect : outcome
        seen.add(typeof effect === 'string' ? effect : 'incremented')
      }
    }
    for (const [path, { version }] of model.topics)
      if (version !== undefined) t.equal(await versionShown(store, path), version, path)
    if (round % 20 === 0) t.strictSame(await storedTopics(store), modelTopics(model), `after round ${round}`)
  }
  t.strictSame(await storedTopics(store), modelTopics(model))
  t.ok(refused > count / 8 && refused < count * 0.875, `${refused} of ${count} batches are rejected`)
  for (const outcome of ['incremented', 'set', ...refusals]) t.ok(seen.has(outcome), outcome)
  t.strictSame(await findingsOf(store), [])
}

await t.test('random batches over a link to a writer have the outcomes that the model predicts', async (t) => {
  const host = await WriterHost.open(t, join(t.testdir(), 'db'))
  const link = host.link(t)
  await randomBatches(t, host.store, () => link)
})

await eachStore(t, async (t, address) => {
  const store = await openStore(address, { directory: join(t.testdir(), 'db') })
  t.teardown(() => store.close())

  await t.test('random batches have the outcomes and effects that the model predicts', (t) => randomBatches(t, store))

  await t.test('constraints on a long value cost about as much as on a short one', async (t) => {
    const path = 'padded' as Path
    const padded = Buffer.from(`[${' '.repeat(900_000)}1]`)
    const add: WriteOperation = {
      kind: 'add',
      ...creation(path),
      valueText: undefined,
      constraint: { kind: 'value', text: Buffer.from('[1]') },
    }
    const set: WriteOperation = { kind: 'set', path, type: 'json', valueText: padded }
    /** The least of several runs, because other work of the process occasionally takes CPU time. */
    const cpuMs = async (operations: readonly WriteOperation[], expected: readonly string[]): Promise<number> => {
      let leastMs = Number.POSITIVE_INFINITY
      for (let i = 0; i < 5; i++) {
        const busy = process.cpuUsage()
        t.strictSame(new Set((await store.write(operations)) as readonly string[]), new Set(expected))
        const { user, system } = process.cpuUsage(busy)
        leastMs = Math.min(leastMs, (user + system) / 1000)
      }
      return leastMs
    }
    const adds = Array.from({ length: 1000 }, () => add)
    await single.addAndSet(store, creation(path), Buffer.from('[1]'))
    const shortMs = await cpuMs(adds, ['present'])
    const inBatchMs = await cpuMs([set, ...adds], ['set', 'present'])
    const storedMs = await cpuMs(adds, ['present'])
    // When each constraint read the value again, this cost 100 times as much.
    for (const [what, ms] of [
      ['a value set in the batch', inBatchMs],
      ['a stored value', storedMs],
    ] as const)
      t.ok(ms < 20 * shortMs, `${ms.toFixed()} ms of CPU on ${what}, ${shortMs.toFixed()} on a short value`)
  })

  await t.test('batches that arrive together take effect one at a time', (t) => together(t, store))

  if (address === 'lmdb') return
  const other = await openStore(address, { directory: join(t.testdir(), 'db') })
  t.teardown(() => other.close())

  await t.test('writes after those of another host have the outcomes of the topic as it is', (t) =>
    afterAnother(t, store, other),
  )

  await t.test('random batches from two hosts in turn have the outcomes that the model predicts', async (t) => {
    await store.removeMatches(planned('*.*'), waiting)
    // Each host's turn lasts long enough that the host relies on its cache, which the other's turn outdates.
    const hostOf = (round: number): TopicStore => (round % 5 < 3 ? store : other)
    await randomBatches(t, store, hostOf)
  })
})

/** Before each write, the host knows the topic, and the other host removes or creates it. */
async function afterAnother(t: Test, store: TopicStore, other: TopicStore): Promise<void> {
  const path = 'known' as Path
  const value = Buffer.from('1')
  const add = (host: TopicStore) => single.addAndSet(host, creation(path), value)
  const writes = [
    ['set', () => single.set(store, path, 'json', value), 'set', 'no_such_topic'],
    ['add', () => single.add(store, creation(path)), 'present', 'created'],
    ['addAndSet', () => add(store), 'updated', 'created'],
    ['remove', () => single.remove(store, path), true, false],
  ] as const
  for (const [name, write, ofTopic, ofNone] of writes) {
    await add(store)
    await single.remove(other, path)
    t.equal(await write(), ofNone, `${name} after another host removed the topic`)
    await single.remove(store, path)
    await add(other)
    t.equal(await write(), ofTopic, `${name} after another host created the topic`)
  }
}

/**
 * Each batch moves two counters in opposite directions, if they still have the values that it read. Many batches of one process run
 * concurrently and share transactions, with single writes of other topics in between. The page that shows the sum of the counters is a scan
 * of one range, which is always read in one piece.
 */
async function together(t: Test, store: TopicStore): Promise<void> {
  await store.removeMatches(planned('*.*'), waiting)
  const names = ['c/1', 'c/2', 'c/3'] as const
  for (const name of names) await single.addAndSet(store, creation(name), Buffer.from('100'))
  let committed = 0
  let conflicts = 0
  const lanes = Array.from({ length: 16 }, async (_, lane) => {
    for (let i = 0; i < 20; i++) {
      const { items } = await readItems(store, { plan: planned('?c//') })
      const from = at(items, (lane + i) % 3)
      const to = at(items, (lane + i + 1) % 3)
      const move = (item: typeof from, by: number): WriteOperation => ({
        kind: 'set',
        path: item.path as Path,
        type: 'json',
        valueText: Buffer.from(String(Number(item.value) + by)),
        constraint: { kind: 'value', text: Buffer.from(String(item.value)) },
      })
      const result = await store.write([move(from, -1), move(to, 1)])
      if (isRefused(result)) conflicts++
      else committed++
      await single.addAndSet(store, creation(`other/${lane}`), Buffer.from(String(i)))
      const sum = (await readItems(store, { plan: planned('?c//') })).items.reduce(
        (s, { value }) => s + Number(value),
        0,
      )
      if (sum !== 300) t.fail(`the sum is ${sum}`)
    }
  })
  await Promise.all(lanes)
  t.ok(committed > 0 && conflicts > 0, `${committed} committed, ${conflicts} conflicts`)
}
