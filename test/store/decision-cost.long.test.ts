/**
 * What a request that is small itself may have the writer read while it decides: long values are copied only to be
 * compared, and not without end.
 */
import t, { type Test } from 'tap'
import { now } from '../../dist/base/clock.js'
import { StoreError } from '../../dist/store/errors.js'
import { openEnvironment } from '../../dist/store/lmdb/environment/environment.js'
import { comparedBytesMax } from '../../dist/store/lmdb/write/topic-changes.js'
import { createWriting, type LocalWriting } from '../../dist/store/lmdb/write/writes.js'
import type { WriteOperation } from '../../dist/store/topics.js'
import type { Constraint } from '../../dist/topics/constraint.js'
import type { Path } from '../../dist/topics/path.js'
import { creation } from '../support/stores/store.js'

interface Trial {
  readonly writing: LocalWriting
  /** How often a value was copied. */
  readonly copies: () => number
}

function open(t: Test): Trial {
  const environment = openEnvironment(t.testdir())
  const writing = createWriting(environment, now, t.fail)
  t.teardown(async () => {
    await writing.close()
    await environment.root.close()
  })
  const { json } = environment.items
  const getBinary = json.getBinary.bind(json)
  let copies = 0
  json.getBinary = (...parameters) => {
    copies++
    return getBinary(...parameters)
  }
  return { writing, copies: () => copies }
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

await t.test('constraints that compare no value and increments copy no value', async (t) => {
  const { writing, copies } = open(t)
  await writing.write([create('long', textOf(1024 * 1024)), create('number', one)])
  await writing.write([{ kind: 'add', ...creation('empty', 'json', {}), valueText: undefined }])
  const increment = (path: string): WriteOperation => ({
    kind: 'increment',
    path: path as Path,
    type: 'json',
    valueText: one,
  })
  const operations = [
    set('long', { kind: 'no_value' }),
    set('long', { kind: 'version', version: 1 }),
    increment('long'),
    increment('empty'),
    increment('number'),
    set('empty', { kind: 'no_value' }),
  ]
  t.strictSame(await writing.write(operations, false), [
    'unsatisfied_constraint',
    'unsatisfied_constraint',
    'not_a_number',
    'not_a_number',
    { valueText: '2' },
    'set',
  ])
  t.equal(copies(), 0)
})

await t.test('a request that compares too many long values is refused whole', async (t) => {
  const bytes = 16 * 1024 * 1024
  const readsMax = comparedBytesMax / bytes
  const { writing, copies } = open(t)
  // The first ones fill what is kept, so the last is read for each constraint.
  const paths = ['a', 'b', 'c', 'd', 'e']
  for (const path of paths) await writing.write([create(path, textOf(bytes))])
  const comparing = (reads: number): WriteOperation[] =>
    Array.from({ length: reads }, (_, i) => set(paths[i] ?? 'e', { kind: 'value', text: one }))
  t.strictSame(await writing.write(comparing(readsMax), false), Array(readsMax).fill('unsatisfied_constraint'))
  t.equal(copies(), readsMax)
  await t.rejects(
    writing.write([create('new', one), ...comparing(readsMax + 1)], false),
    new StoreError('retry', 'a request compares too many long values'),
  )
  t.equal(copies(), 2 * readsMax + 1)
  t.strictSame(await writing.write([set('new', { kind: 'no_topic' }), ...comparing(1)], false), [
    'no_such_topic',
    'unsatisfied_constraint',
  ])
})
