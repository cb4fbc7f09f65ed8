/** The client's `changes` and `follow`: across reloads and kills, behind a proxy that buffers streams, and at their end. */
import { once } from 'node:events'
import t from 'tap'
import { type Change, connect, TopicdError } from '../../dist/client/index.js'
import { startServer, until } from '../support/service/server.js'
import { startStub } from '../support/service/stub.js'
import { turn } from '../support/turns.js'

t.test('a slow caller causes no outage', async (t) => {
  const { setTimeout, clearTimeout } = globalThis
  const silences = new Set<unknown>()
  globalThis.setTimeout = ((callback: () => void, ms?: number) => {
    const timer = setTimeout(callback, ms)
    if (ms === 40_000) silences.add(timer)
    return timer
  }) as typeof setTimeout
  globalThis.clearTimeout = ((timer: NodeJS.Timeout) => {
    silences.delete(timer)
    clearTimeout(timer)
  }) as typeof clearTimeout
  t.teardown(() => Object.assign(globalThis, { setTimeout, clearTimeout }))
  const server = await startServer(t)
  const topics = connect(server.url, { key: server.token })
  await topics.addAndSet('slow/a', 1)
  for await (const change of topics.changes('?slow//')) {
    if (change.kind !== 'topic') continue
    await turn()
    t.equal(silences.size, 0, 'no limit runs while the caller is busy')
    break
  }
})

t.test('follow() keeps the current state while workers are reloaded and killed', async (t) => {
  const server = await startServer(t, { workers: 2 })
  const topics = connect(server.url, { key: server.token })
  await topics.addAndSet('a/1', 1)
  await topics.addAndSet('a/2', 12345678901234567890n)
  const live = topics.follow('*a//', { with_version: true })
  const events: string[] = []
  live.addEventListener('change', (event) => {
    const { path, item } = (event as CustomEvent<{ path: string; item?: { text?: string } }>).detail
    events.push(`${path} ${item?.text}`)
  })
  await live.ready
  t.strictSame(events, ['a/1 1', 'a/2 12345678901234567890'])
  t.ok(live.isComplete)
  t.ok((live.topics.get('a/1')?.version ?? 0) > 0)
  let n = 1
  const sees = async (what: string): Promise<void> => {
    await topics.addAndSet('a/1', ++n)
    await until(what, async () => live.topics.get('a/1')?.value === n || undefined)
  }
  await sees('a change')
  server.signal('SIGHUP')
  await server.logged('rolling restart done')
  await sees('a change after a reload')
  for (const pid of server.workerPids()) process.kill(pid, 'SIGKILL')
  await until('the service continues', async () => (await topics.addAndSet('b', 1).catch(() => undefined)) && true)
  await sees('a change after the workers were killed')
  await topics.remove('a/2')
  await until('a removal', async () => (live.topics.size === 1 ? true : undefined))
  t.equal(events.at(-1), 'a/2 undefined')
  live.close()
  await topics.addAndSet('a/3', 1)
  t.equal(live.topics.size, 1, 'the Map does not change after close')
})

/** The service for tests that do not stop it. */
const server = await startServer(t, { flags: ['--changes-kept', '5'] })
const topics = connect(server.url, { key: server.token })

t.test('changes() continues where an earlier iteration stopped', async (t) => {
  await topics.addAndSet('a', 1)
  const seen: Change[] = []
  const first = topics.changes('*.*')
  for await (const change of first) {
    seen.push(change)
    if (change.kind === 'complete') break
  }
  t.match(seen, [{ kind: 'topic', path: 'a', item: { value: 1 } }, { kind: 'complete' }])
  await topics.addAndSet('b', 2)
  await topics.remove('a')
  const later: Change[] = []
  for await (const change of topics.changes('*.*', { since: first.next })) {
    later.push(change)
    if (change.kind === 'complete') break
  }
  t.match(later, [{ kind: 'topic', path: 'b' }, { kind: 'removed', path: 'a' }, { kind: 'complete' }])
})

t.test('changes() starts over without the removed topics if the token is too old', async (t) => {
  for (const path of ['a', 'b']) await topics.addAndSet(path, 1)
  const first = topics.changes('*.*')
  for await (const { kind } of first) if (kind === 'complete') break
  await topics.remove('a')
  for (let i = 0; i < 10; i++) await topics.addAndSet('b', i)
  const kinds: string[] = []
  for await (const change of topics.changes('*.*', { since: first.next })) {
    kinds.push(change.kind === 'topic' || change.kind === 'removed' ? `${change.kind} ${change.path}` : change.kind)
    if (change.kind === 'complete') break
  }
  t.strictSame(kinds, ['restarted', 'topic b', 'complete'])
})

t.test('changes() and follow() end on a rejection or an aborted signal', async (t) => {
  const key = await server.addKey('short')
  const revoked = connect(server.url, { key })
  const live = revoked.follow('*.*')
  await live.ready
  const failed = once(live, 'error') as Promise<[CustomEvent<TopicdError>]>
  await server.request({ command: 'revokeKey', name: 'short' })
  const [{ detail }] = await failed
  t.match(detail, { code: 'unauthorized', status: 401 })
  await t.rejects(revoked.follow('*.*').ready, { code: 'unauthorized' })
  await t.rejects(topics.follow('?(').ready, { code: 'invalid_selector' })
  const controller = new AbortController()
  const waiting = (async () => {
    for await (const { kind } of topics.changes('*.*', {
      signal: controller.signal,
    }))
      if (kind === 'complete') controller.abort(new Error('enough'))
  })()
  await t.rejects(waiting, { message: 'enough' })
  t.ok(detail instanceof TopicdError)
})

t.test('polls replace a stream if a proxy buffers it', async (t) => {
  const stub = await startStub(t, ({ headers, text }) => {
    if (headers.accept === 'text/event-stream') return 'be silent'
    const { since } = JSON.parse(text) as { since?: string }
    const path = since === undefined ? 'first' : `after-${since}`
    return { text: `{"has_more":false,"results":[{"path":"${path}","type":"json","value":1}],"next":"${path.length}"}` }
  })
  const controller = new AbortController()
  const paths: string[] = []
  for await (const change of connect(stub.url, { key: 'k' }).changes('*.*', { signal: controller.signal })) {
    if (change.kind === 'topic') paths.push(change.path)
    if (paths.length === 3) break
  }
  t.strictSame(paths, ['first', 'after-5', 'after-7'])
  t.equal(stub.requests.length, 4, 'one stream was tried')
})
