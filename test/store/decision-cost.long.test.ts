/** The limit on the stored values that the writer reads to decide one small request. */
import t, { type Test } from 'tap'
import { now } from '../../dist/base/clock.js'
import { comparedBytesMax } from '../../dist/store/core/write/batch.js'
import { StoreError } from '../../dist/store/errors.js'
import { createWriting, type LocalWriting } from '../../dist/store/lmdb/commit/writing.js'
import { openEnvironment } from '../../dist/store/lmdb/environment/environment.js'
import { LmdbView } from '../../dist/store/lmdb/view/view.js'
import type { WriteOperation } from '../../dist/store/topics.js'
import { Receipts } from '../../dist/store/writer/receipts.js'
import type { Constraint } from '../../dist/topics/constraint.js'
import type { Path } from '../../dist/topics/path.js'
import { creation } from '../support/stores/store.js'

interface Trial {
  readonly writing: LocalWriting
  /** Number of values read so far. */
  readonly reads: () => number
}

function open(t: Test): Trial {
  const environment = openEnvironment(t.testdir())
  const view = new LmdbView(environment, () => {})
  const options = { clock: now, onBroken: t.fail, room: undefined, changesKept: undefined }
  const writing = createWriting(environment, view, { ...options, receipts: new Receipts([]) })
  t.teardown(async () => {
    await writing.close()
    await environment.root.close()
  })
  const { json } = environment.items
  const getBinaryFast = json.getBinaryFast.bind(json)
  let reads = 0
  json.getBinaryFast = (path) => {
    reads++
    return getBinaryFast(path)
  }
  return { writing, reads: () => reads }
}

const one = Buffer.from('1')

const create = (path: string, valueText: Uint8Array | undefined): WriteOperation => ({
  kind: 'addAndSet',
  ...creation(path, 'json', {}),
  valueText,
})

const set = (path: string, constraint: Constraint): WriteOperation => ({
  kind: 'set',
  path: path as Path,
  type: 'json',
  valueText: one,
  constraint,
})

const textOf = (bytes: number): Buffer => Buffer.from(`"${'x'.repeat(bytes - 2)}"`)

await t.test('a request that compares too many long values is rejected as a whole', async (t) => {
  const bytes = 16 * 1024 * 1024
  const readsMax = comparedBytesMax / bytes
  const { writing, reads } = open(t)
  // The first values fill the cache, so the last one is read again for each constraint.
  const paths = ['a', 'b', 'c', 'd', 'e']
  for (const path of paths) await writing.write([create(path, textOf(bytes))])
  const comparing = (reads: number): WriteOperation[] =>
    Array.from({ length: reads }, (_, i) => set(paths[i] ?? 'e', { kind: 'value', text: one }))
  t.strictSame(await writing.write(comparing(readsMax), false), Array(readsMax).fill('unsatisfied_constraint'))
  t.equal(reads(), readsMax)
  await t.rejects(
    writing.write([create('new', one), ...comparing(readsMax + 1)], false),
    new StoreError('retry', 'a request compares too many long values'),
  )
  t.equal(reads(), 2 * readsMax + 1)
  t.strictSame(await writing.write([set('new', { kind: 'no_topic' }), ...comparing(1)], false), [
    'no_such_topic',
    'unsatisfied_constraint',
  ])
})

await t.test('a value set by the request itself may be compared any number of times', async (t) => {
  const bytes = 16 * 1024 * 1024
  const { writing } = open(t)
  const paths = ['a', 'b', 'c', 'd', 'e']
  for (const path of paths) await writing.write([create(path, textOf(bytes))])
  const stored = paths.map((path) => set(path, { kind: 'value', text: one }))
  const own = Array.from({ length: comparedBytesMax / bytes }, () => set('own', { kind: 'value', text: one }))
  const outcomes = await writing.write([...stored, create('own', textOf(bytes)), ...own], false)
  const unsatisfied = (count: number): string[] => Array(count).fill('unsatisfied_constraint')
  t.strictSame(outcomes, [...unsatisfied(stored.length), 'created', ...unsatisfied(own.length)])
})
