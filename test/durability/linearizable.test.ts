/**
 * The checker behind the crash tests rejects histories in which an update was lost, undone, seen too early, or seen by
 * some clients and then not by others. That it accepts sound ones, the crash tests show.
 */
import t from 'tap'
import { findViolation, type Operation, type Value } from '../support/models/linearizable.js'

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

for (const [fault, history] of Object.entries(rejected)) t.ok(findViolation(history), `rejects: ${fault}`)

t.test('a violation names the operation that cannot be explained, and the values that were possible', async (t) => {
  const found = findViolation([write(0, 1, 'a'), write(2, 3, 'b'), write(4, 9, 'c'), read(5, 6, 'a')])
  t.strictSame(found?.operation, read(5, 6, 'a'))
  t.strictSame(found?.possible, ['b'])
})
