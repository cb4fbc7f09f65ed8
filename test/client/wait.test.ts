/** Waits and work that a signal ends. */
import t from 'tap'
import { unlessAborted, wait } from '../../dist/client/wait.js'

const reason = new Error('enough')

t.test('an already aborted signal immediately ends a wait or other pending work', async (t) => {
  const signal = AbortSignal.abort(reason)
  await t.rejects(wait(1e9, signal), reason)
  await t.rejects(unlessAborted(new Promise(() => {}), signal), reason)
})

t.test('aborting the signal later ends a pending wait and pending work', async (t) => {
  const controller = new AbortController()
  const ended = [wait(1e9, controller.signal), unlessAborted(new Promise(() => {}), controller.signal)]
  controller.abort(reason)
  for (const promise of ended) await t.rejects(promise, reason)
})

t.test('work that finishes before an abort keeps its own result or error', async (t) => {
  const { signal } = new AbortController()
  t.equal(await unlessAborted(Promise.resolve(1), signal), 1)
  await t.rejects(unlessAborted(Promise.reject(reason), signal), reason)
})
