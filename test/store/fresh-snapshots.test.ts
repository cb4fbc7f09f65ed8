/**
 * When requests share a snapshot: within one poll of the event loop, and never with the poll after it.
 */
import { stat } from 'node:fs'
import t from 'tap'
import { afterPoll } from '../../dist/after-poll.js'
import { createSnapshots } from '../../dist/store/lmdb/fresh-snapshots.js'

/** Runs work in a poll phase of the event loop. */
function inPoll<T>(work: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    stat(import.meta.filename, (error) => (error === null ? resolve(work()) : reject(error)))
  })
}

function play() {
  let renewals = 0
  const snapshots = createSnapshots(
    () => renewals++,
    () => 1,
  )
  /** How often the snapshot is renewed by the reads of one request. */
  const request = (): number => {
    const before = renewals
    snapshots.forRequest()
    return renewals - before
  }
  return { request }
}

t.test('requests of one poll share a snapshot, the next poll has another', async (t) => {
  const { request } = play()
  t.strictSame(await inPoll(() => [request(), request(), request()]), [1, 0, 0])
  t.equal(await inPoll(request), 1)
})

t.test('the snapshot of a request that is handled after the poll is not that of the next poll', async (t) => {
  const { request } = play()
  const next = await new Promise<number>((resolve) => {
    void inPoll(() => {
      afterPoll(() => {
        t.equal(request(), 1, 'it gets a snapshot of its own')
        t.equal(request(), 1, 'and so does another one like it')
        // Its end comes with the next poll, before any immediate: the system has answered by then.
        void inPoll(request).then(resolve)
        for (const endMs = performance.now() + 100; performance.now() < endMs; );
      })
    })
  })
  t.equal(next, 1, 'a request of the next poll sees what was committed since')
})
