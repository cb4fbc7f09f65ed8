/**
 * The checker behind the crash tests: it accepts what one copy of a topic could have answered, and rejects histories in
 * which an update was lost, undone, seen too early, or seen by some clients and then not by others.
 */
import t from 'tap'
import { findViolation, type Operation, type Value } from '../support/models/linearizable.js'
import { randomFrom, seededRandom } from '../support/random.js'

const write = (startMs: number, endMs: number | undefined, value: Value, found?: boolean): Operation => ({
  startMs,
  endMs,
  write: value,
  found,
})
const read = (startMs: number, endMs: number, value: Value): Operation => ({ startMs, endMs, read: value })

const swap = (startMs: number, endMs: number | undefined, from: Value, value: Value): Operation => ({
  startMs,
  endMs,
  read: from,
  write: value,
})
const conflict = (startMs: number, endMs: number, notRead: Value): Operation => ({ startMs, endMs, notRead })

/** The same without an answer, by processes that were all dead at that time. */
const died = (operation: Operation, deadMs: number): Operation => ({ ...operation, endMs: undefined, deadMs })

const accepted: Readonly<Record<string, readonly Operation[]>> = {
  'nothing at all': [],
  'a read of an absent topic': [read(0, 1, null)],
  'a write and its value': [write(0, 1, 'a'), read(2, 3, 'a')],
  'a read of the old value during a write': [write(0, 10, 'a'), read(1, 2, null)],
  'a read of the new value during a write': [write(0, 10, 'a'), read(1, 2, 'a')],
  'reads of the old, then of the new value during one write': [write(0, 10, 'a'), read(1, 2, null), read(3, 4, 'a')],
  'two concurrent writes, the first one last': [write(0, 10, 'a'), write(0, 10, 'b'), read(11, 12, 'a')],
  'two concurrent writes, the second one last': [write(0, 10, 'a'), write(0, 10, 'b'), read(11, 12, 'b')],
  'a write without an answer that never happened': [write(0, 1, 'a'), write(2, undefined, 'b'), read(5, 6, 'a')],
  'a write without an answer that happened late': [
    write(0, 1, 'a'),
    write(2, undefined, 'b'),
    read(5, 6, 'a'),
    read(7, 8, 'b'),
    write(9, 10, 'c'),
    read(11, 12, 'c'),
  ],
  'a write without an answer that is observed only because the topic is found': [
    write(0, undefined, 'a'),
    write(2, 3, 'b', true),
  ],
  'a removal without an answer that happened late': [
    write(0, 1, 'a'),
    write(2, undefined, null),
    read(5, 6, 'a'),
    read(7, 8, null),
  ],
  'two removals without an answer, each effective once': [
    write(0, undefined, null),
    write(0, undefined, null),
    write(1, 2, 'a', false),
    write(3, 4, 'b', false),
    write(5, 6, 'c', false),
  ],
  'a compare-and-set, and one that is too late': [
    write(0, 1, 'a'),
    swap(2, 6, 'a', 'b'),
    conflict(3, 5, 'a'),
    read(7, 8, 'b'),
  ],
  'a compare-and-set without an answer that never happened': [
    write(0, 1, 'a'),
    swap(2, undefined, 'a', 'b'),
    read(3, 4, 'a'),
    swap(5, 6, 'a', 'c'),
  ],
  'a compare-and-set without an answer that happened late': [
    write(0, 1, 'a'),
    swap(2, undefined, 'a', 'b'),
    read(3, 4, 'a'),
    swap(5, 6, 'b', 'c'),
  ],
  'two compare-and-sets without answers, one after the other': [
    write(0, undefined, 'a'),
    swap(1, undefined, 'a', 'b'),
    swap(2, undefined, 'b', 'c'),
    read(3, 4, 'c'),
  ],
  'a removal with a condition without an answer that never happened': [
    write(0, undefined, 'a'),
    swap(1, undefined, 'a', null),
    read(2, 3, null),
    swap(4, 5, null, 'b'),
  ],
  'a creation where there is no topic': [swap(0, 1, null, 'a'), conflict(2, 3, null)],
  'a removal by a process that died, before its death': [
    write(0, 1, 'a'),
    died(write(2, undefined, null), 5),
    read(3, 4, 'a'),
    read(6, 7, null),
  ],
  'a removal by a process that died without having done it': [
    write(0, 1, 'a'),
    died(write(2, undefined, null), 5),
    read(6, 7, 'a'),
  ],
  'a write by a process that died, read after its death': [died(write(0, undefined, 'a'), 2), read(3, 4, 'a')],
  'a write by a process that died, observed only because the topic is found': [
    died(write(0, undefined, 'a'), 2),
    write(3, 4, 'b', true),
  ],
  'a write that was answered while others died': [
    write(0, 1, 'a'),
    died(write(2, undefined, null), 3),
    write(2, 4, 'b', false),
    read(5, 6, 'b'),
  ],
  'two deaths, each after a removal that was done': [
    died(write(0, undefined, null), 3),
    write(1, 2, 'a', false),
    write(4, 5, 'b', false),
    died(write(6, undefined, null), 7),
    write(8, 9, 'c', false),
  ],
  'a removal, then a creation': [write(0, 1, 'a', false), write(2, 3, null, true), write(4, 5, 'b', false)],
}

const rejected: Readonly<Record<string, readonly Operation[]>> = {
  'an acknowledged write that was lost': [write(0, 1, 'a'), read(2, 3, null)],
  'an acknowledged update that was lost': [write(0, 1, 'a'), write(2, 3, 'b'), read(4, 5, 'a')],
  'a value that was undone': [write(0, 1, 'a'), write(2, undefined, 'b'), read(3, 4, 'b'), read(5, 6, 'a')],
  'a value seen before it was sent': [read(0, 1, 'a'), write(2, 3, 'a')],
  'reads of the new, then of the old value during one write': [write(0, 10, 'a'), read(1, 2, 'a'), read(3, 4, null)],
  'a value that was never written': [write(0, 1, 'a'), read(2, 3, 'z')],
  'a removed topic that is found': [write(0, 1, 'a'), write(2, 3, null), write(4, 5, 'b', true)],
  'one removal without an answer, effective twice': [
    write(0, undefined, null),
    write(1, 2, 'a', false),
    write(3, 4, 'b', false),
    write(5, 6, 'c', false),
  ],
  'a topic found before it was first written': [write(0, 1, 'a', true), write(2, undefined, 'b')],
  'a topic created twice': [write(0, 1, 'a', false), write(2, 3, 'b', false)],
  'two concurrent writes, both last': [write(0, 10, 'a'), write(0, 10, 'b'), read(11, 12, 'a'), read(13, 14, 'b')],
  'two that compare with one value and set': [write(0, 1, 'a'), swap(2, 5, 'a', 'b'), swap(2, 5, 'a', 'c')],
  'a conflict without another writer': [write(0, 1, 'a'), conflict(2, 3, 'a')],
  'a conflict after which nothing was changed': [
    write(0, 1, 'a'),
    swap(2, 5, 'a', 'b'),
    conflict(3, 4, 'a'),
    read(4.5, 6, 'a'),
  ],
  'a compare-and-set without an answer, after its value was replaced': [
    write(0, 1, 'a'),
    write(2, 3, 'b'),
    swap(4, undefined, 'a', 'c'),
    read(5, 6, 'c'),
  ],
  'a compare-and-set that was undone': [write(0, 1, 'a'), swap(2, 3, 'a', 'b'), read(4, 5, 'a')],
  'a removal by a process that was dead by then': [
    write(0, 1, 'a'),
    died(write(2, undefined, null), 5),
    read(6, 7, 'a'),
    read(8, 9, null),
  ],
  'a topic created after the death of the process that was to remove it, and lost': [
    died(write(0, undefined, null), 1),
    write(2, 3, 'a', false),
    read(4, 5, null),
  ],
  'a topic found long after its only writer had died without having written it': [
    died(write(0, undefined, 'a'), 2),
    read(3, 4, null),
    write(5, 6, 'b', true),
  ],
  'a value that appears after its writer had died without having written it': [
    died(write(0, undefined, 'a'), 2),
    read(3, 4, null),
    read(5, 6, 'a'),
  ],
  'a stale read during another read': [write(0, 1, 'a'), write(2, 3, 'b'), read(4, 8, 'b'), read(5, 6, 'a')],
}

for (const [expectation, history] of Object.entries(accepted))
  t.equal(findViolation(history), undefined, `accepts: ${expectation}`)
for (const [expectation, history] of Object.entries(rejected)) t.ok(findViolation(history), `rejects: ${expectation}`)

t.test('a violation names the operation that cannot be explained, and the values that were possible', async (t) => {
  const found = findViolation([write(0, 1, 'a'), write(2, 3, 'b'), write(4, 9, 'c'), read(5, 6, 'a')])
  t.strictSame(found?.operation, read(5, 6, 'a'))
  t.strictSame(found?.possible, ['b'])
})

t.test(
  'histories of a real register are accepted, and rejected with a read of a value that was never written',
  async (t) => {
    const { seed } = seededRandom(t)
    let rejections = 0
    for (let run = 0; run < 200; run++) {
      const random = randomFrom((seed + run) >>> 0)
      const history: Operation[] = []
      let value: Value = null
      let lastEnd = 0
      const deaths = Array.from({ length: random.below(4) }, () => random.below(60) + 0.5).sort((a, b) => a - b)
      for (let i = 0; i < 60; i++) {
        // Each takes effect at i; it is called before and answered after that, so that it overlaps its neighbours.
        const startMs = i - random.below(30) / 10
        const endMs = i + random.below(30) / 10
        lastEnd = Math.max(lastEnd, endMs)
        const deadMs = deaths.find((atMs) => atMs > startMs)
        const isAnswered = !random.oneIn(10) || (deadMs !== undefined && deadMs < i)
        const end = isAnswered ? { endMs } : { endMs: undefined, deadMs }
        if (random.oneIn(2)) history.push(read(startMs, endMs, value))
        else if (random.oneIn(4)) history.push(conflict(startMs, endMs, 'another value'))
        else if (random.oneIn(3)) {
          const before = value
          value = `value ${i}`
          history.push({ ...swap(startMs, endMs, before, value), ...end })
        } else {
          const found = value !== null
          value = random.oneIn(5) ? null : `value ${i}`
          history.push({ ...write(startMs, endMs, value, found), ...end })
        }
      }
      if (findViolation(history) !== undefined) t.fail(`seed ${seed}, run ${run}: a register's own history is rejected`)
      const planted = [...history, read(lastEnd + 1, lastEnd + 2, 'never written')]
      if (findViolation(planted) !== undefined) rejections++
    }
    t.equal(rejections, 200, 'every planted read is found')
  },
)
