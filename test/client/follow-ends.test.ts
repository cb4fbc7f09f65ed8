/** A follow that ends, for whatever reason: `ready` is settled. */
import t from 'tap'
import { connect } from '../../dist/client/index.js'
import { until } from '../support/service/server.js'
import { startStub } from '../support/service/stub.js'

t.test('`ready` rejects if the end comes before the present state', async (t) => {
  const stub = await startStub(t, () => 'be silent')
  const topics = connect(stub.url, { key: 'k' })
  const reasons = new Map<string, unknown>()
  const note = (name: string, ready: Promise<void>): Promise<void> =>
    ready.catch((error: unknown) => void reasons.set(name, error))
  const controller = new AbortController()
  const closed = topics.follow('*.*')
  void note('closed', closed.ready)
  void note('aborted', topics.follow('*.*', { signal: controller.signal }).ready)
  // Nobody awaits this one: tap fails for an unhandled rejection.
  topics.follow('*.*').close()
  await until('the requests', async () => stub.requests.length >= 2 || undefined)
  closed.close()
  controller.abort(new Error('enough'))
  void note('aborted before', topics.follow('*.*', { signal: AbortSignal.abort(new Error('already')) }).ready)
  await until('the ends', async () => reasons.size === 3 || undefined)
  t.match(reasons.get('closed'), { name: 'AbortError' })
  t.match(reasons.get('aborted'), { message: 'enough' })
  t.match(reasons.get('aborted before'), { message: 'already' })
})
