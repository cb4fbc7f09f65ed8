/** Requests share a snapshot within one poll of the event loop, and never across two. */
import { stat } from 'node:fs'
import t from 'tap'
import { afterPoll } from '../../dist/base/after-poll.js'
import { waitForSlice } from '../../dist/base/time-slices.js'
import { createSnapshots } from '../../dist/store/lmdb/view/read-freshness.js'

/** Runs work in a poll phase of the event loop. */
function inPoll<T>(work: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    stat(import.meta.filename, (error) => (error === null ? resolve(work()) : reject(error)))
  })
}

/** Snapshots that count their renewals, for a process with one socket. */
function countingSnapshots() {
  let renewals = 0
  const snapshots = createSnapshots(
    () => renewals++,
    () => 1,
  )
  /** Handles one request; returns how often it renewed the snapshot. */
  const request = (): number => {
    const before = renewals
    snapshots.forRequest()
    return renewals - before
  }
  return { request }
}

t.test('requests of one poll of the event loop share a snapshot that no other poll uses', async (t) => {
  const { request } = countingSnapshots()
  t.strictSame(await inPoll(() => [request(), request(), request()]), [1, 0, 0])
  t.equal(await inPoll(request), 1)
})

t.test('a request handled after its poll has its own snapshot', async (t) => {
  const { request } = countingSnapshots()
  const next = await new Promise<number>((resolve) => {
    void inPoll(() => {
      afterPoll(() => {
        t.equal(request(), 1, 'the request gets its own snapshot')
        t.equal(request(), 1, 'the next request in the same immediate also gets one')
        // The system replies during the loop below, so this request arrives with the next poll, before any immediate.
        void inPoll(request).then(resolve)
        for (const endMs = performance.now() + 100; performance.now() < endMs; );
      })
    })
  })
  t.equal(next, 1, 'a request of the next poll gets a fresh snapshot')
})

t.test('a resumed slice and its callbacks have their own snapshots', async (t) => {
  const { request } = countingSnapshots()
  const next = await new Promise<number>((resolve) => {
    void waitForSlice().then(async () => {
      t.equal(request(), 1, 'the slice gets its own snapshot')
      await Promise.resolve()
      t.equal(request(), 1, 'a continuation that waits for no event also gets one')
      void inPoll(request).then(resolve)
      for (const endMs = performance.now() + 100; performance.now() < endMs; );
    })
  })
  t.equal(next, 1, 'a request of the next poll gets a fresh snapshot')
})
