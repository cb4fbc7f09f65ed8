/** Pages of a log with few relevant changes: reads are not kept in memory, and a page is returned in time. */
import t, { type Test } from 'tap'
import { type ChangesStore, readPageAfter } from '../../dist/changes/pages.js'
import { Scope } from '../../dist/changes/scope.js'
import type { LoggedChanges, LogPlace, LogSnapshot } from '../../dist/store/changes.js'
import { storedForms } from '../../dist/store/topics.js'
import { encodeKey, keyTextOf } from '../../dist/topics/key.js'
import { collectGarbage } from '../support/garbage.js'
import { endlessSlice } from '../support/slices.js'
import { planned } from '../support/stores/store.js'
import { turn } from '../support/turns.js'

/** Readings of the log, each with one topic of the scope. */
const readings = 30
const keysInReading = 500

function placeOf(reading: number, keys: number): LogPlace {
  const place = Buffer.alloc(8)
  place.writeUInt32BE(keys, place.writeUInt32BE(reading))
  return place
}

const plan = planned('*wanted//')
const scope = new Scope({ text: '*wanted//', plan, under: undefined, form: storedForms.json, size: 100 })
const cancellation = { aborted: false, onAborted: undefined }
const since = { place: placeOf(0, 0), walk: undefined }

/** Simulates a clock that the test moves by the returned object. */
function simulateClock(t: Test): { laterMs: number } {
  const { now } = performance
  const startMs = now.call(performance)
  const clock = { laterMs: 0 }
  performance.now = () => startMs + clock.laterMs
  t.teardown(() => Object.assign(performance, { now }))
  return clock
}

t.test('a page retains no part of the log that it has read', async (t) => {
  // The page is read to its end, no matter how long the collections take.
  simulateClock(t)
  const read: WeakRef<LoggedChanges>[] = []
  let mostKept = 0
  const log: LogSnapshot = {
    end: () => placeOf(readings, 0),
    changesAfter(place, _keysMax, take) {
      collectGarbage()
      mostKept = Math.max(mostKept, read.filter((changes) => changes.deref() !== undefined).length)
      const reading = place.readUInt32BE()
      const from = place.readUInt32BE(4)
      const keys = Array.from({ length: keysInReading }, (_, i) =>
        keyTextOf(encodeKey(i === 0 ? `wanted/${reading}` : `other/${reading}/${i}`)),
      ).slice(from)
      const placeAt = (index: number): LogPlace =>
        index < keys.length ? placeOf(reading, from + index) : placeOf(reading + 1, 0)
      const changes = { keys, isAll: reading === readings - 1, placeAt }
      read.push(new WeakRef(changes))
      return take(changes, endlessSlice)
    },
    readItems(paths, _form, _bytesMax, take) {
      for (const path of paths) if (!take(Buffer.from(`{"path":"${path}"}`))) return
    },
  }
  const store = {
    async inSnapshot(work: (log: LogSnapshot) => unknown) {
      await turn()
      return work(log)
    },
  } as unknown as ChangesStore
  const page = await readPageAfter(store, scope, since, { bytesMax: 1_000_000, cancellation })
  t.match(page, { results: { length: readings }, hasMore: false })
  t.ok(read.length >= readings && mostKept <= 2, `${mostKept} of ${read.length} readings were kept`)

  const cut = await readPageAfter(store, scope, since, { bytesMax: 100, cancellation })
  t.ok(cut !== 'gone' && cut.hasMore && cut.results.length < readings)
  if (cut !== 'gone') t.strictSame(cut.next.place, placeOf(cut.results.length, 0), 'the next page follows')
})

t.test('a page is returned after a few seconds, even if it is empty', async (t) => {
  const clock = simulateClock(t)
  let readings = 0
  const log: LogSnapshot = {
    end: () => placeOf(1_000_000, 0),
    changesAfter(place, _keysMax, take) {
      const next = place.readUInt32BE() + 1
      readings++
      const keys = [keyTextOf(encodeKey('other'))]
      return take({ keys, isAll: next === 1_000_000, placeAt: () => placeOf(next, 0) }, endlessSlice)
    },
    readItems: (paths) => void t.strictSame(paths, []),
  }
  const store = {
    async inSnapshot(work: (log: LogSnapshot) => unknown) {
      await turn()
      clock.laterMs += 1000
      return work(log)
    },
  } as unknown as ChangesStore
  const page = await readPageAfter(store, scope, since, { bytesMax: 1_000_000, cancellation })
  t.match(page, { results: { length: 0 }, hasMore: true })
  t.ok(readings > 2 && readings < 10, `after ${readings} readings, each a second later`)
  t.ok(page !== 'gone' && page.next.place.equals(placeOf(readings, 0)), 'the next page continues from there')
})
