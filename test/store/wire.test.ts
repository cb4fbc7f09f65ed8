/**
 * What processes and the writer say to each other: requests and outcomes are decoded as they were encoded, random ones
 * too (SEED=… replays them).
 */
import t, { type Test } from 'tap'
import type { KeyRecord } from '../../dist/keys/record.js'
import { StoreError } from '../../dist/store/errors.js'
import { ByteReader, ByteWriter } from '../../dist/store/lmdb/write/bytes.js'
import { bytesOf, Slabs } from '../../dist/store/lmdb/write/slab.js'
import { type Prepared, prepare } from '../../dist/store/lmdb/write/topic-changes.js'
import {
  readOutcome,
  readRequest,
  resultOf,
  type SmallChange,
  writeChange,
  writeOperations,
  writeOutcome,
} from '../../dist/store/lmdb/write/wire.js'
import type {
  BatchResult,
  RefusedOperation,
  WriteOperation,
  WriteOutcome,
  WriteRefusal,
} from '../../dist/store/topics.js'
import type { Constraint } from '../../dist/topics/constraint.js'
import type { Path } from '../../dist/topics/path.js'
import type { Properties, TopicType } from '../../dist/topics/topic.js'
import { type Random, seededRandom } from '../support/random.js'
import { creation } from '../support/stores/store.js'

/** As what an operation is compared: its item as text, and an absent member as one that is undefined. */
function comparable({ kind, path, type, properties, removal, constraint, item }: Prepared): unknown {
  const own = properties && Object.entries(properties)
  const text = constraint?.kind === 'value' ? Buffer.from(constraint.text).toString() : undefined
  const itemText = item && Buffer.from(bytesOf(item)).toString()
  return { kind, path, type, own: own ?? [], removal, constraint: constraint?.kind, text, itemText }
}

/** Encodes requests one after the other, not at the beginning of their memory, and decodes them. */
function sent(requests: readonly (readonly WriteOperation[])[]): Prepared[][] {
  const out = new ByteWriter()
  out.text('something before')
  out.take()
  for (const operations of requests) writeOperations(out, operations, true)
  const frame = out.take()
  const from = new ByteReader(frame)
  const decoded: Prepared[][] = []
  while (from.hasMore) {
    const request = readRequest(from, frame)
    if ('change' in request) throw new Error('it is no change')
    decoded.push([...request.operations])
  }
  return decoded
}

const prepared = (operations: readonly WriteOperation[]): Prepared[] => {
  const slabs = new Slabs()
  return operations.map((operation) => prepare(operation, slabs))
}

function check(t: Test, operations: readonly WriteOperation[], expectation: string): void {
  t.strictSame(sent([operations])[0]?.map(comparable), prepared(operations).map(comparable), expectation)
}

const path = 'a/ä/€/𝄞 "quoted"' as Path
const valueText = Buffer.from('{"number": 1.0, "text": "ä€𝄞"}')

/** With members that an object literal would not have. */
function properties(text: string): Properties {
  return JSON.parse(text) as Properties
}

const allProperties = [
  {},
  { note: 'x' },
  { REMOVAL: 'when no updates for 1d', note: 'ä€𝄞 "' },
  { DONT_RETAIN_VALUE: 'true' },
  properties('{"__proto__": "own", "constructor": "own", "toString": "own", "hasOwnProperty": "own"}'),
  properties('{"": "", "\\u0000": "\\ud800"}'),
]

const constraints: readonly (Constraint | undefined)[] = [
  undefined,
  { kind: 'no_topic' },
  { kind: 'no_value' },
  { kind: 'version', version: Number.MAX_SAFE_INTEGER },
  { kind: 'value', text: Buffer.from('{"x": "ä"}') },
  { kind: 'value', text: Buffer.from('') },
]

/** One operation of each kind, for each constraint and type, and all properties. */
function everyOperation(): WriteOperation[] {
  return constraints.flatMap((constraint) => {
    const removal: WriteOperation = { kind: 'remove', path, valueText: undefined, constraint }
    const others = (['json', 'string'] as const).flatMap((type): WriteOperation[] => [
      { kind: 'set', path, type, valueText, constraint },
      { kind: 'increment', path, type, valueText, constraint },
      ...allProperties.flatMap((each): WriteOperation[] => [
        { kind: 'add', ...creation(path, type, each), valueText: undefined, constraint },
        { kind: 'addAndSet', ...creation(path, type, each), valueText, constraint },
      ]),
    ])
    return [removal, ...others]
  })
}

t.test('every kind of operation is decoded as it was encoded', (t) => {
  const operations = everyOperation()
  for (const operation of operations) check(t, [operation], `${operation.kind} alone`)
  check(t, operations, 'all of them in one request')
  t.strictSame(
    sent(operations.map((operation) => [operation])).map(([first]) => first && comparable(first)),
    prepared(operations).map(comparable),
    'each in a request of its own',
  )
  check(t, [], 'none')
  t.end()
})

t.test('a property named __proto__ is a property, and no prototype', (t) => {
  const created = creation(path, 'json', properties('{"__proto__": "own"}'))
  const [[decoded] = []] = sent([[{ kind: 'add', ...created, valueText: undefined }]])
  t.strictSame(Object.keys(decoded?.properties ?? {}), ['__proto__'])
  t.equal(Object.getPrototypeOf(decoded?.properties), Object.prototype)
  t.end()
})

t.test('large values and long paths are decoded as they were encoded', (t) => {
  const long = '€'.repeat(600) as Path
  const large = Buffer.from(JSON.stringify('x'.repeat(3_000_000)))
  check(t, [{ kind: 'set', path: long, type: 'json', valueText: large }], 'a value of 3 MB')
  const constraint = { kind: 'value', text: large } as const
  check(t, [{ kind: 'set', path: long, type: 'string', valueText, constraint }], 'a constraint of 3 MB')
  t.end()
})

t.test('a request copies what it was made from', (t) => {
  const value = Buffer.from('"before"')
  const text = Buffer.from('"before"')
  const out = new ByteWriter()
  writeOperations(
    out,
    [{ kind: 'set', path, type: 'json', valueText: value, constraint: { kind: 'value', text } }],
    true,
  )
  value.fill('x')
  text.fill('x')
  const frame = out.take()
  t.match(frame.toString('latin1'), /"before".*"before"/s)
  t.notMatch(frame.toString('latin1'), /xxxxxx/)
  t.end()
})

const record: KeyRecord = {
  name: 'kü',
  tokenHash: 'a'.repeat(64),
  allow: ['fetch', 'set'],
  under: ['a/ä' as Path],
  madeMs: 1.5e12,
  expiresMs: 2e12,
  rate: 0.5,
  former: { tokenHash: 'b'.repeat(64), untilMs: 1.6e12 },
}

const changes: readonly SmallChange[] = [
  { about: 'addKey', record },
  { about: 'restoreKey', record: { name: 'k', tokenHash: '', allow: [], under: [], madeMs: 0 } },
  { about: 'rotateKey', rotation: { name: '__proto__', formerHash: 'a', tokenHash: 'b', formerUntilMs: 1.7e12 } },
  { about: 'revokeKey', name: '' },
  { about: 'touchKeys', uses: [] },
  {
    about: 'touchKeys',
    uses: [
      ['a', 1],
      ['ä', 1.7e12 + 0.5],
    ],
  },
  { about: 'noteBackup', madeMs: 1.7e12 },
]

t.test('every change is decoded as it was encoded, among operations', (t) => {
  const out = new ByteWriter()
  for (const change of changes) {
    writeChange(out, change)
    writeOperations(out, [{ kind: 'remove', path, valueText: undefined }], true)
  }
  const frame = out.take()
  const from = new ByteReader(frame)
  for (const change of changes) {
    t.strictSame(readRequest(from, frame), { change })
    t.match(readRequest(from, frame), { operations: [{ kind: 'remove', path }] })
  }
  t.notOk(from.hasMore)
  t.end()
})

t.test('a request that is cut off, or of an unknown kind, is an error', (t) => {
  const out = new ByteWriter()
  writeOperations(out, everyOperation().slice(0, 12), true)
  const whole = out.take()
  for (let length = 0; length < whole.length; length++) {
    const frame = whole.subarray(0, length)
    if (doesNotThrow(() => readRequest(new ByteReader(frame), frame))) t.fail(`${length} bytes`)
  }
  const unknown = Buffer.from([77, 0, 0, 0, 0])
  t.throws(() => readRequest(new ByteReader(unknown), unknown), { message: 'a request has the unknown kind 77' })
  t.end()
})

function doesNotThrow(work: () => void): boolean {
  try {
    work()
    return true
  } catch {
    return false
  }
}

const outcomes: readonly WriteOutcome[] = [
  'set',
  'created',
  'updated',
  'present',
  'removed',
  'nothing_removed',
  { valueText: '0' },
  { valueText: '9'.repeat(1000) },
]
const refusals: readonly WriteRefusal[] = [
  'no_such_topic',
  'incompatible_type',
  'incompatible_properties',
  'unsatisfied_constraint',
  'not_a_number',
]
const action = { kind: 'remove', path } as const

t.test('every outcome is decoded as it was encoded', (t) => {
  const results: (BatchResult | boolean)[] = [
    true,
    false,
    [],
    ...outcomes.map((outcome) => [outcome]),
    ...outcomes.map((outcome) => [outcome, outcome]),
    outcomes,
    ...refusals.map((refusal) => [refusal]),
    [...refusals, ...outcomes, ...refusals],
    Array.from({ length: 1000 }, () => 'set' as const),
    ...refusals.map((refusal, i) => ({ index: 70_000 * i, action, refusal })),
  ]
  const out = new ByteWriter(1)
  for (const [number, result] of results.entries()) writeOutcome(out, 2 ** 40 + number, result)
  const from = new ByteReader(out.take())
  for (const [i, result] of results.entries()) {
    const { number, outcome } = readOutcome(from)
    t.equal(number, 2 ** 40 + i)
    const wanted = typeof result === 'object' && 'refusal' in result ? withoutAction(result) : result
    t.strictSame(outcome, wanted)
  }
  t.notOk(from.hasMore)
  t.end()
})

function withoutAction({ index, refusal }: RefusedOperation): unknown {
  return { index, refusal }
}

t.test('errors keep their kind and message', (t) => {
  const kinds = ['retry', 'unknown_outcome', 'full', 'unavailable'] as const
  const out = new ByteWriter(1)
  for (const kind of kinds) writeOutcome(out, 1, new StoreError(kind, `ä ${kind}`))
  writeOutcome(out, 2, new TypeError('ours'))
  const from = new ByteReader(out.take())
  for (const kind of kinds) {
    const { outcome } = readOutcome(from)
    t.ok(outcome instanceof StoreError)
    t.match(outcome, { kind, message: `ä ${kind}` })
  }
  const { outcome } = readOutcome(from)
  t.ok(outcome instanceof Error && !(outcome instanceof StoreError))
  t.match(outcome, { message: 'ours' })
  t.notOk(from.hasMore)
  t.end()
})

t.test('unknown outcomes are an error', (t) => {
  for (const kind of [11, 14, 22, 255]) {
    const bytes = Buffer.alloc(9)
    bytes[8] = kind
    t.throws(() => readOutcome(new ByteReader(bytes)), RangeError, `kind ${kind}`)
  }
  t.end()
})

t.test('the operation that was refused is found again', (t) => {
  const operations = [{ kind: 'set', path, type: 'json' } as const, action]
  t.strictSame(resultOf({ index: 1, refusal: 'no_such_topic' }, operations), {
    index: 1,
    action,
    refusal: 'no_such_topic',
  })
  t.strictSame(resultOf(['set', 'removed'], operations), ['set', 'removed'])
  t.throws(() => resultOf({ index: 2, refusal: 'no_such_topic' }, operations), RangeError)
  t.end()
})

function randomText(random: Random, lengthMax: number): string {
  const characters = ['a', 'b', ' ', '"', '\\', 'é', '€', '𝄞', '\u2028', '\x01', '\x7f', '\uffff']
  return Array.from({ length: random.below(lengthMax + 1) }, () => random.pick(characters)).join('')
}

function randomOperation(random: Random): WriteOperation {
  const text = (): Buffer => Buffer.from(JSON.stringify(randomText(random, random.oneIn(50) ? 50_000 : 30)))
  const path = `p${randomText(random, 20)}` as Path
  const type: TopicType = random.oneIn(2) ? 'json' : 'string'
  const constraint = random.pick([...constraints, { kind: 'value', text: text() } as const])
  const names = ['__proto__', 'note', 'ä', randomText(random, 5)]
  const own = names.filter(() => random.oneIn(2)).map((name) => [name, randomText(random, 30)] as const)
  const removal: Properties = random.oneIn(4) ? { REMOVAL: 'when no updates for 1d' } : {}
  const created = creation(path, type, random.oneIn(3) ? {} : { ...Object.fromEntries(own), ...removal })
  switch (random.below(4)) {
    case 0:
      return { kind: 'remove', path, valueText: undefined, constraint }
    case 1:
      return { kind: 'add', ...created, valueText: undefined, constraint }
    case 2:
      return { kind: 'addAndSet', ...created, valueText: text(), constraint }
    default:
      return { kind: 'set', path, type, valueText: text(), constraint }
  }
}

t.test('random requests are decoded as they were encoded', (t) => {
  const random = seededRandom(t)
  for (let round = 0; round < 60; round++) {
    const requests = Array.from({ length: random.below(5) }, () =>
      Array.from({ length: random.below(20) }, () => randomOperation(random)),
    )
    const decoded = sent(requests).map((operations) => operations.map(comparable))
    const wanted = requests.map((operations) => prepared(operations).map(comparable))
    if (!t.strictSame(decoded, wanted)) break
  }
  t.end()
})
