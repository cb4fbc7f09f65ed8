/** Receipts: what is kept of the outcomes of requests, until the client has them, and found again by the next writer. */
import t, { type Test } from 'tap'
import { StoreError } from '../../dist/store/errors.js'
import { type Environment, openEnvironment } from '../../dist/store/lmdb/environment/environment.js'
import { ByteReader } from '../../dist/store/lmdb/write/bytes.js'
import { frameHeadBytes } from '../../dist/store/lmdb/write/frames.js'
import { Receipt, Receipts } from '../../dist/store/lmdb/write/receipts.js'
import { readOutcome } from '../../dist/store/lmdb/write/wire.js'

/** The outcomes in a record, or in a frame without its head: their numbers, and what they are. */
function outcomesIn(record: Buffer): (readonly [number, unknown])[] {
  const from = new ByteReader(record)
  const found: (readonly [number, unknown])[] = []
  while (from.hasMore) {
    const { number, outcome } = readOutcome(from)
    found.push([number, outcome])
  }
  return found
}

const numbersOf = (receipt: Receipt): number[] => outcomesIn(receipt.record()).map(([number]) => number)

/** The frames to send, each without its head, which must be its length. */
function sentBy(t: Test, receipt: Receipt): (readonly [number, unknown])[][] {
  return receipt.takeUnsent().map((frame) => {
    t.equal(frame.readUInt32LE(), frame.length - frameHeadBytes, 'the frame begins with its length')
    return outcomesIn(frame.subarray(frameHeadBytes))
  })
}

t.test('the record holds all that is not acknowledged, and nothing is sent twice', (t) => {
  const receipt = new Receipt('client')
  t.strictSame(outcomesIn(receipt.record()), [])
  t.strictSame(sentBy(t, receipt), [])
  receipt.add(1, ['created'])
  receipt.add(2, false)
  t.strictSame(sentBy(t, receipt), [
    [
      [1, ['created']],
      [2, false],
    ],
  ])
  receipt.add(3, { index: 0, action: { kind: 'remove', path: 'a' as never }, refusal: 'unsatisfied_constraint' })
  const all = [
    [1, ['created']],
    [2, false],
    [3, { index: 0, refusal: 'unsatisfied_constraint' }],
  ]
  t.strictSame(outcomesIn(receipt.record()), all)
  t.strictSame(outcomesIn(receipt.record()), all, 'reading it changes nothing')
  t.strictSame(sentBy(t, receipt), [all.slice(2)])
  t.strictSame(sentBy(t, receipt), [])
  t.end()
})

t.test('what is acknowledged is dropped, whole frames at a time', (t) => {
  const receipt = new Receipt('client')
  for (const numbers of [[1, 2], [3], [4, 5, 6]]) {
    for (const number of numbers) receipt.add(number, true)
    receipt.record()
  }
  receipt.acknowledge(0)
  t.strictSame(numbersOf(receipt), [1, 2, 3, 4, 5, 6])
  receipt.acknowledge(1)
  t.strictSame(numbersOf(receipt), [1, 2, 3, 4, 5, 6], 'a part of a frame keeps it')
  receipt.acknowledge(2)
  t.strictSame(numbersOf(receipt), [3, 4, 5, 6])
  receipt.acknowledge(1)
  t.strictSame(numbersOf(receipt), [3, 4, 5, 6], 'an earlier number changes nothing')
  receipt.acknowledge(5)
  t.strictSame(numbersOf(receipt), [4, 5, 6])
  receipt.acknowledge(100)
  t.strictSame(numbersOf(receipt), [])
  receipt.add(7, true)
  t.strictSame(numbersOf(receipt), [7], 'later ones are kept')
  t.end()
})

t.test('outcomes that were added, and not gathered yet, are not acknowledged by earlier numbers', (t) => {
  const receipt = new Receipt('client')
  receipt.add(2, true)
  receipt.acknowledge(1)
  t.strictSame(numbersOf(receipt), [2])
  t.strictSame(
    sentBy(t, receipt).map((frame) => frame.length),
    [1],
  )
  t.end()
})

t.test('an outcome out of order is kept until all of its frame are acknowledged', (t) => {
  const receipt = new Receipt('client')
  // A write that is refused for want of room is answered before those of the same transaction.
  receipt.add(3, new StoreError('full', 'the disk is nearly full'))
  receipt.add(1, true)
  receipt.add(2, true)
  receipt.record()
  receipt.acknowledge(2)
  t.strictSame(numbersOf(receipt), [3, 1, 2])
  receipt.acknowledge(3)
  t.strictSame(numbersOf(receipt), [])
  t.end()
})

t.test('the memory for acknowledged outcomes does not grow', (t) => {
  const receipt = new Receipt('client')
  for (let number = 1; number <= 20_000; number++) {
    receipt.acknowledge(number - 1)
    receipt.add(number, ['set'])
    if (receipt.record().length > 20) t.fail(`the record grows with request ${number}`)
    receipt.takeUnsent()
  }
  t.end()
})

function openStored(t: Test): Environment {
  const environment = openEnvironment(t.testdir())
  t.teardown(() => environment.root.close())
  return environment
}

t.test('what is stored is read back, and acknowledged like what is new', (t) => {
  const { receipts: table, transact } = openStored(t)
  const written = new Receipts(table)
  transact(() => {
    for (const name of ['first', 'second']) {
      const receipt = written.of(name)
      for (let number = 1; number <= 3; number++)
        written.add(receipt, number, [`${name === 'first' ? 'set' : 'removed'}`])
    }
    written.put()
  })
  const read = new Receipts(table)
  t.strictSame([...read.names()].sort(), ['first', 'second'])
  const receipt = read.of('first')
  t.equal(receipt.lastTaken, 0, 'nothing was taken by this writer')
  t.strictSame(outcomesIn(receipt.record()), [
    [1, ['set']],
    [2, ['set']],
    [3, ['set']],
  ])
  t.strictSame(sentBy(t, receipt), [], 'it is sent only with the greeting')
  receipt.add(4, true)
  receipt.acknowledge(2)
  t.strictSame(numbersOf(receipt), [1, 2, 3, 4])
  receipt.acknowledge(3)
  t.strictSame(numbersOf(receipt), [4])
  t.strictSame(outcomesIn(read.of('second').record())[0], [1, ['removed']])
  t.end()
})

t.test('only what changed is stored, in one record for each client', (t) => {
  const { receipts: table, transact } = openStored(t)
  const receipts = new Receipts(table)
  const [a, b] = [receipts.of('a'), receipts.of('b')]
  const commit = (work: () => void): void =>
    transact(() => {
      work()
      receipts.put()
    })
  commit(() => receipts.add(a, 1, true))
  t.strictSame(
    receipts.takeChanged().map(({ name }) => name),
    ['a'],
  )
  t.strictSame(receipts.takeChanged(), [], 'once')
  t.equal(table.get('b'), undefined)
  commit(() => {
    receipts.add(b, 1, true)
    receipts.add(b, 2, true)
  })
  t.strictSame(
    receipts.takeChanged().map(({ name }) => name),
    ['b'],
  )
  b.acknowledge(2)
  a.acknowledge(1)
  commit(() => receipts.add(a, 2, false))
  receipts.takeChanged()
  t.strictSame(outcomesIn(table.get('a') ?? Buffer.alloc(0)), [[2, false]], 'without what was acknowledged')
  t.strictSame(outcomesIn(table.get('b') ?? Buffer.alloc(0)), [
    [1, true],
    [2, true],
  ])
  t.end()
})

t.test('a client that is removed leaves nothing, and may come back', (t) => {
  const { receipts: table, transact } = openStored(t)
  const receipts = new Receipts(table)
  const receipt = receipts.of('a')
  receipt.lastTaken = 5
  transact(() => {
    receipts.add(receipt, 5, true)
    receipts.put()
  })
  receipts.takeChanged()
  transact(() => receipts.remove('a'))
  t.equal(table.get('a'), undefined)
  t.strictSame(receipts.names(), [])
  t.strictSame(outcomesIn(receipts.of('a').record()), [])
  t.equal(receipts.of('a').lastTaken, 0)
  transact(() => receipts.remove('unknown'))
  t.strictSame(new Receipts(table).names(), [])
  t.end()
})
