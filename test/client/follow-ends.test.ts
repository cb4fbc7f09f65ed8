/** The end of a follow, for any reason: `ready` is settled, and no listener or timer is left. */
import { getEventListeners, once } from 'node:events'
import t from 'tap'
import { connect } from '../../dist/client/index.js'
import { until } from '../support/service/server.js'
import { startStub } from '../support/service/stub.js'

t.test('`ready` rejects if following ends before the current state has loaded', async (t) => {
  const stub = await startStub(t, () => 'be silent')
  const topics = connect(stub.url, { key: 'k' })
  const reasons = new Map<string, unknown>()
  const note = (name: string, ready: Promise<void>): Promise<void> =>
    ready.catch((error: unknown) => void reasons.set(name, error))
  const controller = new AbortController()
  const closed = topics.follow('*.*')
  void note('closed', closed.ready)
  void note('aborted', topics.follow('*.*', { signal: controller.signal }).ready)
  // No code awaits this follow: tap fails on an unhandled rejection.
  topics.follow('*.*').close()
  await until('the request', async () => stub.requests.length >= 1 || undefined)
  closed.close()
  controller.abort(new Error('enough'))
  void note('aborted before', topics.follow('*.*', { signal: AbortSignal.abort(new Error('already')) }).ready)
  await until('the ends', async () => reasons.size === 3 || undefined)
  t.match(reasons.get('closed'), { name: 'AbortError' })
  t.match(reasons.get('aborted'), { message: 'enough' })
  t.match(reasons.get('aborted before'), { message: 'already' })
})

t.test('follow() leaves no listener on its signal', async (t) => {
  const refusal = { status: 401, text: '{"code":"unauthorized","message":"x"}' }
  const stub = await startStub(t, ({ text }) => (text.includes('refused') ? refusal : 'be silent'))
  const topics = connect(stub.url, { key: 'k' })
  const { signal } = new AbortController()
  const listeners = (): number => getEventListeners(signal, 'abort').length
  const live = topics.follow('*.*', { signal })
  t.equal(listeners(), 1)
  live.close()
  t.equal(listeners(), 0, 'after close')
  await once(topics.follow('refused', { signal }), 'error')
  await until('no listener after a rejection', async () => listeners() === 0 || undefined)
})

t.test('a closed tree leaves no timer', async (t) => {
  const timers = (): number => process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length
  const stub = await startStub(t, () => ({ status: 503, headers: { 'retry-after': '77' }, text: '{}' }))
  const before = timers()
  const tree = connect(stub.url, { key: 'k' }).followTree()
  await t.rejects(tree.ready)
  tree.close()
  await until('no timer', async () => timers() <= before || undefined)
})
