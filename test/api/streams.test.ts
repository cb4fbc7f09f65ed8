/** POST /topics/changes with `accept: text/event-stream`: the events of a stream, resuming it, and its end. */
import t from 'tap'
import { refuses } from '../support/expected-answers.js'
import { ChangesStream, changesPage } from '../support/service/changes.js'
import { overStores } from '../support/service/over-stores.js'
import { until } from '../support/service/server.js'

await overStores(t, async (t, server) => {
  const { post, client, addKey } = server
  const set = (path: string, value: unknown) => post('addAndSet', { path, value })
  const open = (body: object, token = server.token, lastEventId?: string) =>
    ChangesStream.open({ url: server.url, token, lastEventId }, body)

  await t.test('a stream first sends the current state, then each change', async (t) => {
    await set('s/1', 1)
    const stream = await open({ selector: '*s//' })
    const { headers, statusCode } = stream.response
    t.match(
      [statusCode, headers],
      [200, { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' }],
    )
    t.equal(headers['cache-control'], 'no-store, no-transform')
    await stream.complete('the state')
    t.strictSame([...stream.fold.topics.values()], [{ path: 's/1', type: 'json', value: 1 }])
    t.ok((stream.retryMs ?? 0) >= 1000 && (stream.retryMs ?? 0) <= 5000)
    for (let i = 0; i < 20; i++) {
      await set('s/1', i)
      await set('other', i)
      await stream.complete(`the change ${i}`, ({ topics }) => topics.get('s/1')?.value === i)
    }
    await post('remove', { path: 's/1' })
    await stream.complete('the removal', ({ topics }) => topics.size === 0)
    stream.close()
  })

  await t.test("a stream resumes after the last event id, regardless of the body's `since`", async (t) => {
    const before = await open({ selector: '*r//' })
    await set('r/1', 1)
    await before.complete('the first topic', ({ topics }) => topics.size === 1)
    before.close()
    await set('r/2', 2)
    const after = await open({ selector: '*r//', since: 'now' }, server.token, before.fold.next)
    await after.complete('the second topic', ({ topics }) => topics.size > 0)
    t.strictSame([...after.fold.topics.keys()], ['r/2'])
    after.close()
    const page = await changesPage(client, { selector: '*r//', since: before.fold.next })
    t.strictSame(page.results, [{ path: 'r/2', type: 'json', value: 2 }], 'a page also resumes there')
  })

  await t.test('changes of one commit arrive together, in pages of the requested size', async (t) => {
    const stream = await open({ selector: '*c//', size: 2, since: 'now' })
    await stream.complete('the start')
    const operations = Array.from({ length: 5 }, (_, i) => ({ op: 'addAndSet', path: `c/${i}`, value: i }))
    await post('batch', { operations })
    await stream.complete('the batch', ({ topics }) => topics.size === 5)
    const sizes = stream.pages.slice(1).map(({ results, has_more: hasMore }) => [results.length, hasMore])
    t.strictSame(sizes, [
      [2, true],
      [2, true],
      [1, false],
    ])
    stream.close()
  })

  await t.test('a stream delivers many large values', async (t) => {
    const value = 'x'.repeat(300_000)
    const stream = await open({ selector: '*l//', since: 'now' })
    for (let i = 0; i < 10; i++) await set(`l/${i}`, value)
    await stream.complete('all', ({ topics }) => topics.size === 10)
    for (const item of stream.fold.topics.values()) t.equal(item.value, value)
    stream.close()
  })

  await t.test('revoking a key ends its streams', async (t) => {
    const token = await addKey('revoked', { under: ['k'] })
    const stream = await open({ selector: '*k//' }, token)
    await stream.complete('the state')
    const other = await open({ selector: '*k//' })
    await server.request({ command: 'revokeKey', name: 'revoked' })
    t.equal(await stream.ended(), 'unauthorized', 'the stream of the key ends')
    await set('k/1', 1)
    await other.complete('the change', ({ topics }) => topics.size === 1)
    t.strictSame(stream.fold.topics.size, 0)
    other.close()
  })

  await t.test('a stream ends when its key expires', async (t) => {
    const token = await addKey('short', { expiresMs: Date.now() + 3000 })
    const stream = await open({ selector: '*k//' }, token)
    t.equal(await stream.ended(), 'unauthorized')
  })

  await t.test('malformed, unauthorized and outdated stream requests are rejected', async (t) => {
    const headers = { accept: 'text/event-stream' }
    const gone = 'AQAA_oOzJQ'
    refuses(t, await post('changes', { path: 'a', since: gone }, { headers }), 410, 'since_gone', 'since')
    const goneId = { ...headers, 'last-event-id': gone }
    refuses(t, await post('changes', { path: 'a' }, { headers: goneId }), 410, 'since_gone', 'since')
    refuses(t, await post('changes', { path: 'a', since: 'x' }, { headers }), 400, 'invalid_parameter', 'since')
    const lastEventId = { ...headers, 'last-event-id': 'x' }
    refuses(
      t,
      await post('changes', { path: 'a' }, { headers: lastEventId }),
      400,
      'invalid_parameter',
      'last-event-id',
    )
    refuses(t, await post('changes', { path: 'a' }, { headers, token: 'none' }), 401, 'unauthorized', 'key')
  })

  await t.test('a poll whose key is revoked while it waits returns 401', async (t) => {
    const token = await addKey('waits')
    const answer = post('changes', { selector: '*w//', since: 'now', wait: 50 }, { token })
    await server.request({ command: 'revokeKey', name: 'waits' })
    await until('the key is rejected', async () => (await post('fetch', {}, { token })).status === 401 || undefined)
    await set('w/1', 1)
    refuses(t, await answer, 401, 'unauthorized', 'key')
  })
})
