/** Pages, polls and streams over a store with slow reads show every change and the state, and never an older value. */

import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { Feed, type Listener } from '../../dist/changes/feed.js'
import type { Shared } from '../../dist/changes/follower.js'
import { LiveChanges } from '../../dist/changes/live-changes.js'
import { bodyOf, bytesOf } from '../../dist/changes/page.js'
import { readPageAfter } from '../../dist/changes/pages.js'
import { Scope } from '../../dist/changes/scope.js'
import { Stream } from '../../dist/changes/streams.js'
import { decodeToken, encodeToken, type Since } from '../../dist/changes/token.js'
import type { Outlet } from '../../dist/http/answer.js'
import { StoreError } from '../../dist/store/errors.js'
import { storedForms } from '../../dist/store/topics.js'
import { selects } from '../support/models/model.js'
import { type Random, seededRandom } from '../support/random.js'
import { type ChangesPage, Fold } from '../support/service/changes.js'
import { SlowStore } from '../support/stores/slow-store.js'
import { planned } from '../support/stores/store.js'
import { eventually, turn, turns } from '../support/turns.js'

/** A request that waits. */
type Ongoing = Parameters<LiveChanges['page']>[3]

const waiting = { aborted: false, onAborted: undefined }
const bounds = { bytesMax: 1_000_000, cancellation: waiting }

function scopeOf(selector: string, size = 100): Scope {
  return new Scope({ text: selector, plan: planned(selector), under: undefined, form: storedForms.json, size })
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Waits for all work that does not depend on the store. */
const settle = (): Promise<void> => turns(100)

/** A client that records the values that it gets, and any value older than the one before. */
class Client extends Fold {
  readonly wrong: string[] = []
  readonly #shown = new Map<string, number>()

  override take(page: ChangesPage): void {
    for (const { path, value } of page.results) {
      if (value === undefined) continue
      if (Number(value) < (this.#shown.get(path) ?? 0)) this.wrong.push(`${path} went back to ${value}`)
      this.#shown.set(path, Number(value))
    }
    super.take(page)
  }

  state(): Readonly<Record<string, unknown>> {
    return Object.fromEntries([...this.topics].map(([path, { value }]) => [path, value]))
  }
}

/** A client of one stream, which accepts no more data while `isBlocked` is set. */
function recordingClient() {
  const client = new Client()
  const ends: string[] = []
  const state = { isBlocked: false, sent: 0 }
  const outlet: Outlet = {
    send(bytes) {
      state.sent++
      const [, data] = /^data: (.*)$/m.exec(Buffer.from(bytes).toString()) ?? []
      if (data !== undefined) client.take(JSON.parse(data) as ChangesPage)
      return !state.isBlocked
    },
    end: (bytes) => ends.push(Buffer.from(bytes).toString()),
    close: () => ends.push('closed'),
  }
  return { client, ends, state, outlet }
}

/** Opens a stream. */
function openStream(shared: Shared, scope: Scope, since?: string) {
  const { outlet, ...recorded } = recordingClient()
  const onEnd = (): void => void recorded.ends.push('ended')
  const position = since === undefined ? undefined : decodeToken(since)
  const stream = new Stream({ scope, since: position, refusal: () => undefined, onEnd }, shared)
  stream.begin(outlet)
  return { stream, ...recorded }
}

const noDefect = (t: Test) => (error: unknown) => t.fail(String(error))

/** Creates a store with these topics, its feed, and the state that streams share. */
function setUp(t: Test, values: Readonly<Record<string, number>> = {}) {
  const store = new SlowStore()
  if (Object.keys(values).length > 0) store.commit(values)
  const feed = new Feed(store)
  return { store, feed, shared: { store, feed, onDefect: noDefect(t), counts: { deliveries: 0, gone: 0 } } }
}

/** Counts the reads of a store from now on. */
function countReads(store: SlowStore): { count: number } {
  const reads = { count: 0 }
  store.delay = () => Promise.resolve(reads.count++)
  return reads
}

/** Holds back every read of a store. @returns a function that lets the oldest read continue */
function holdReads(store: SlowStore): () => Promise<() => void> {
  const releases: (() => void)[] = []
  store.delay = () => new Promise<void>((resolve) => releases.push(resolve))
  return async () => {
    await eventually(() => releases.length > 0)
    return releases.shift() as () => void
  }
}

/** The value, which must not be an error string. */
function must<T extends object>(value: T | string): T {
  if (typeof value === 'string') throw new Error(value)
  return value
}

t.test('a change made during the read of the initial state is on a later page', async (t) => {
  const store = new SlowStore()
  store.commit({ a: 1, b: 1 })
  store.onPage = () => {
    store.onPage = () => {}
    store.commit({ a: 2 })
  }
  const client = new Client()
  for (let next: string | undefined; !client.isComplete; next = client.next) {
    const since = next === undefined ? undefined : decodeToken(next)
    const page = must(await readPageAfter(store, scopeOf('*.*'), since, bounds))
    client.take(JSON.parse(bodyOf(bytesOf(page)).toString()) as ChangesPage)
  }
  t.strictSame(client.state(), store.state(), 'a change during the walk is shown')
})

t.test('a change while a stream joins the feed is sent to the stream', async (t) => {
  const { store, shared } = setUp(t, { a: 1 })
  const now = must(await readPageAfter(store, scopeOf('*.*'), 'now', bounds))
  const oldest = holdReads(store)
  const { stream, client, state } = openStream(shared, scopeOf('*.*'), encodeToken(now.next))
  const start = await oldest()
  start()
  const firstOfFeed = await oldest()
  const ofStream = await oldest()
  firstOfFeed()
  await settle()
  store.commit({ a: 2 })
  const secondOfFeed = await oldest()
  secondOfFeed()
  await settle()
  t.equal(state.sent, 1, 'the feed sends nothing to a stream that reads')
  store.delay = () => Promise.resolve()
  ofStream()
  await eventually(() => !stream.isBehind)
  t.strictSame(client.state(), { a: 2 }, 'no change between the read and the feed is lost')
  stream.end('rotated')
  t.equal(store.followers, 0, 'no follower remains without a stream')
})

t.test('a stream with since `now` shows only changes made after it was opened', async (t) => {
  const store = new SlowStore()
  store.commit({ a: 1 })
  const changes = new LiveChanges(store, 1, noDefect(t))
  const options = { scope: scopeOf('*.*'), since: 'now', refusal: () => undefined } as const
  const opened = must(await changes.openStream(options, 'key'))
  store.commit({ a: 2 })
  const { client, outlet } = recordingClient()
  opened.begin(outlet)
  await eventually(() => client.isComplete)
  t.strictSame(client.state(), { a: 2 })
  t.equal(await changes.openStream(options, 'key'), 'full')
  opened.onGone()
  must(await changes.openStream(options, 'key')).onGone()
  t.equal(changes.stats().streams, 0, 'a stream that never started returns its seat')
  const late = changes.openStream(options, 'key')
  changes.drain()
  t.equal(await late, 'draining', 'a drain while a stream opens')
})

t.test('a stream whose key is revoked while it opens ends immediately', async (t) => {
  const { store, shared } = setUp(t)
  const { client, outlet, ends } = recordingClient()
  const onEnd = (): void => void ends.push('ended')
  new Stream({ scope: scopeOf('*.*'), since: undefined, refusal: () => 'unauthorized', onEnd }, shared).begin(outlet)
  await eventually(() => ends.length === 2)
  t.match(ends.join(), /"code":"unauthorized"/)
  t.equal(store.followers, 0)
  t.strictSame(client.state(), {})
})

t.test('a stream that is ended before it starts sends only its end event', async (t) => {
  const store = new SlowStore()
  for (const [end, expected] of [
    [(changes: LiveChanges) => changes.keysChanged(), /^id:\nevent: end\ndata: \{"code":"access_changed"/],
    [(changes: LiveChanges) => changes.drain(), /^event: end\ndata: \{"code":"draining"/],
  ] as const) {
    const changes = new LiveChanges(store, 1, noDefect(t))
    let isRevoked = false
    const refusal = () => (isRevoked ? 'access_changed' : undefined)
    const opened = must(await changes.openStream({ scope: scopeOf('*.*'), since: 'now', refusal }, 'key'))
    isRevoked = true
    end(changes)
    const { outlet, ends } = recordingClient()
    opened.begin(outlet)
    t.match(ends, [expected])
    t.equal(ends.length, 1)
    t.equal(changes.stats().streams, 0)
  }
  t.equal(store.followers, 0)
})

t.test('a stream that joins the feed while the only other stream leaves gets changes', async (t) => {
  const { store, shared } = setUp(t)
  const oldest = holdReads(store)
  const first = openStream(shared, scopeOf('*a//'))
  const firstOfFeed = await oldest()
  first.stream.onGone()
  const second = openStream(shared, scopeOf('*b//'))
  store.delay = () => Promise.resolve()
  firstOfFeed()
  await eventually(() => second.client.isComplete)
  await settle()
  store.commit({ 'b/1': 1 })
  await eventually(() => second.client.topics.size === 1)
  t.equal(store.followers, 1, 'the log is followed for the new stream')
  second.stream.end('rotated')
  t.equal(store.followers, 0)
})

t.test('a stream that recent commits did not affect needs no read of the log for the next change', async (t) => {
  const { store, shared } = setUp(t)
  const { stream, client } = openStream(shared, scopeOf('*a//'))
  await eventually(() => client.isComplete && !stream.isBehind)
  const reads = countReads(store)
  for (let n = 1; n <= 5; n++) {
    store.commit({ 'b/1': n })
    await eventually(() => reads.count === n)
  }
  store.commit({ 'a/1': 1 })
  await eventually(() => client.topics.size === 1)
  t.equal(reads.count, 6, 'the feed reads once per commit, the stream not at all')
  stream.end('rotated')
})

t.test('an announced commit that affects no stream is not read from the log', async (t) => {
  const { store, feed, shared } = setUp(t)
  const { stream, client, ends } = openStream(shared, scopeOf('*a//'))
  await eventually(() => client.isComplete && !stream.isBehind)
  const reads = countReads(store)
  const end = (): Promise<unknown> => Promise.resolve(store.inSnapshot((log) => log.end()))
  store.tells = () => 'all'
  for (let n = 1; n <= 5; n++) {
    store.commit({ 'b/1': n })
    t.strictSame(feed.position?.place, await end(), 'the feed moves past the commit immediately')
  }
  t.equal(reads.count, 5, 'only this test has read')
  reads.count = 0
  store.commit({ 'b/1': 6, 'a/1': 6 })
  await eventually(() => client.topics.size === 1)
  t.equal(reads.count, 1, 'a commit that affects a stream is read')
  store.tells = () => 'none'
  store.commit({ 'a/1': 7 })
  store.tells = () => 'all'
  store.commit({ 'b/1': 8 })
  await eventually(() => client.state()['a/1'] === 7)
  t.equal(reads.count, 2, 'a commit after an unannounced one is read')
  await eventually(() => feed.position?.place.readUInt32BE() === 8)

  const others = openStream(shared, scopeOf('*b//'))
  await eventually(() => others.client.isComplete && !others.stream.isBehind)
  store.commit({ 'b/2': 9 })
  await eventually(() => others.client.topics.size === 2)
  for (const opened of [stream, others.stream]) opened.end('rotated')
  t.equal(ends.length, 2)
  t.equal(store.followers, 0)
})

t.test('a commit that is announced after it was read is not read again', async (t) => {
  const { store, shared } = setUp(t)
  const { stream, client } = openStream(shared, scopeOf('*a//'))
  await eventually(() => client.isComplete && !stream.isBehind)
  const late: (() => void)[] = []
  store.tells = () => 'all'
  store.deliver = (tell) => late.push(tell)
  const reads = countReads(store)
  for (let n = 1; n <= 3; n++) store.commit({ 'a/1': n })
  late.shift()?.()
  await eventually(() => client.state()['a/1'] === 3)
  await settle()
  // More than one read if the time slice ended in between.
  const before = reads.count
  for (const tell of late) tell()
  await settle()
  t.equal(reads.count, before)
  store.deliver = (tell) => tell()
  store.commit({ 'b/1': 4 })
  store.commit({ 'a/1': 5 })
  await eventually(() => client.state()['a/1'] === 5)
  t.ok(reads.count > before, 'the following commits are read')
})

t.test('clients get the current state however long reads take, and no older value follows', async (t) => {
  const random = seededRandom(t)
  const { store, shared } = setUp(t)
  store.delay = () => (random.oneIn(3) ? Promise.resolve() : sleep(random.below(4)))
  let isWriting = true
  store.tells = () => (isWriting ? random.pick(['all', 'all', 'all', 'some', 'none']) : 'some')
  store.deliver = (tell) => void (random.oneIn(3) ? setTimeout(tell, random.below(6)) : tell())
  const changes = new LiveChanges(store, 10, noDefect(t))
  const selectors = ['*.*', '*a//', '*b//', '>a/1']
  const scopes = selectors.map((selector) => scopeOf(selector, 1 + random.below(4)))
  const polled = scopes.map((scope) => poll(changes, scope, random, () => isWriting))
  const opened = [...scopes, scopes[0] as Scope].map((scope) => openStream(shared, scope))
  for (let n = 1; n < 400; n++) {
    const path = `${random.pick(['a', 'b'])}/${random.below(5)}`
    store.commit({ [path]: random.oneIn(5) ? undefined : n, [`${path}/x`]: n })
    const { state, stream } = random.pick(opened)
    if (random.oneIn(10)) state.isBlocked = true
    else if (state.isBlocked) {
      state.isBlocked = false
      stream.onWritable()
    }
    await sleep(random.below(3))
  }
  isWriting = false
  store.commit({ 'c/1': 1 })
  for (const { state, stream } of opened) {
    state.isBlocked = false
    stream.onWritable()
  }
  const clients = [...(await Promise.all(polled)), ...opened.map(({ client }) => client)]
  for (const [i, client] of clients.entries()) {
    const expected = Object.entries(store.state()).filter(([path]) => selects(selectors[i % 4] as string, path))
    const isDone = (): boolean => isDeepStrictEqual(client.state(), Object.fromEntries(expected))
    await eventually(() => isDone() && client.isComplete)
    t.strictSame(client.wrong, [], `client ${i}: no value is older than the one before`)
  }
  for (const { stream } of opened) stream.end('rotated')
  t.equal(store.followers, 0)
})

async function poll(changes: LiveChanges, scope: Scope, random: Random, goesOn: () => boolean): Promise<Client> {
  const client = new Client()
  for (;;) {
    const isLast = !goesOn()
    const since = client.next === undefined ? undefined : decodeToken(client.next)
    const options = { waitMs: isLast ? 0 : random.below(30), bytesMax: 1_000_000, keyName: 'key' }
    const body = await changes.page(scope, since, options, { ...waiting })
    client.take(JSON.parse(must(body).toString()) as ChangesPage)
    if (isLast && client.isComplete) return client
  }
}

t.test('a stream ends with since_gone or store_unavailable if the log is lost or unreadable', async (t) => {
  const { store, shared } = setUp(t, { a: 1 })
  const first = openStream(shared, scopeOf('*.*'))
  await eventually(() => first.client.isComplete)
  store.isTrimmed = true
  store.commit({ a: 2 })
  await eventually(() => first.ends.length > 0)
  t.match(first.ends[0], /^id:\nevent: end\ndata: \{"code":"since_gone"/, 'the id must not be sent again')
  const changes = new LiveChanges(store, 1, noDefect(t))
  const since = decodeToken(first.client.next ?? '')
  const opened = await changes.openStream({ scope: scopeOf('*.*'), since, refusal: () => undefined }, 'key')
  if (typeof opened === 'object') opened.onGone()
  t.equal(opened, 'gone')
  t.match(changes.stats(), { goneTokens: 1, streams: 0 })
  store.isTrimmed = false
  const second = openStream(shared, scopeOf('*.*'))
  await eventually(() => second.client.isComplete)
  store.delay = () => Promise.reject(new StoreError('unavailable', 'down'))
  store.commit({ a: 3 })
  await eventually(() => second.ends.length > 0)
  t.match(second.ends[0], /"code":"store_unavailable"/)
  t.equal(store.followers, 0)
})

t.test('a poll ends when its client disconnects or the service drains', async (t) => {
  const store = new SlowStore()
  const changes = new LiveChanges(store, 1, noDefect(t))
  const options = { waitMs: 60_000, bytesMax: 1000, keyName: 'key' }
  const ongoing: { aborted: boolean; onAborted: (() => void) | undefined } = { ...waiting }
  const poll = (of: Ongoing = { ...waiting }) => changes.page(scopeOf('*.*'), 'now', options, of)
  const gone = poll(ongoing)
  await eventually(() => store.followers > 0)
  t.equal(await poll(), 'full')
  ongoing.aborted = true
  ongoing.onAborted?.()
  await t.rejects(gone)
  await eventually(() => store.followers === 0)
  const drained = poll()
  await eventually(() => store.followers > 0)
  changes.drain()
  t.match(String(await drained), /^\{"has_more":false,"results":\[\],"next":/)
  t.match(String(await poll()), /"results":\[\]/)
  t.equal(changes.stats().polls, 0)
})

t.test('a poll woken by several pages of changes returns the first, and its token leads to the others', async (t) => {
  const store = new SlowStore()
  const changes = new LiveChanges(store, 1, noDefect(t))
  const poll = async (since: Since): Promise<ChangesPage> => {
    const options = { waitMs: 60_000, bytesMax: 1000, keyName: 'key' }
    return JSON.parse(must(await changes.page(scopeOf('*.*', 1), since, options, { ...waiting })).toString())
  }
  const first = poll('now')
  await eventually(() => store.followers > 0)
  await settle()
  store.commit({ a: 1, b: 1 })
  const { results, has_more: hasMore, next } = await first
  const others = await poll(decodeToken(next))
  const paths = [...results, ...others.results].map(({ path }) => path)
  t.strictSame(paths, ['a', 'b'])
  t.ok(hasMore)
})

t.test('a stream has a heartbeat every 15 s and lasts from 8 to 12 minutes', async (t) => {
  const { store, shared } = setUp(t)
  const beforeMs = performance.now()
  const opened = Array.from({ length: 50 }, () => openStream(shared, scopeOf('*.*')))
  await eventually(() => opened.every(({ client }) => client.isComplete))
  const nowMs = performance.now()
  for (const { stream, client, state, ends } of opened) {
    const { sent } = state
    const { next } = client
    stream.check(nowMs + 15_000)
    t.equal(state.sent, sent + 1, 'a heartbeat is sent')
    t.ok(client.isComplete && client.topics.size === 0)
    t.equal(client.next, next, 'the heartbeat has the current position')
    stream.check(beforeMs + 480_000)
    t.strictSame(ends, [])
    stream.check(nowMs + 721_000)
    t.match(ends[0], /"code":"rotated"/)
  }
  t.equal(store.followers, 0)
})

/** Adds a listener that fails the test for any unexpected call. */
async function listen(t: Test, feed: Feed, scope: Scope, expected: Partial<Listener>): Promise<void> {
  const unexpected = (what: string) => (): void => void t.fail(what)
  await feed.add(scope, {
    onPages: unexpected('pages'),
    onMissed: unexpected('a miss'),
    onFailure: (error) => t.fail(String(error)),
    ...expected,
  })
}

function spin(ms: number): void {
  for (const endMs = performance.now() + ms; performance.now() < endMs; );
}

t.test('listeners woken by one commit do their work in several turns of the event loop', async (t) => {
  const { store, feed } = setUp(t)
  const count = 50
  let woken = 0
  const onPages = (): void => {
    woken++
    spin(1)
  }
  for (let i = 0; i < count; i++) await listen(t, feed, scopeOf('*a//'), { onPages })
  store.commit({ 'a/1': 1 })
  let most = 0
  for (let before = 0; woken < count; before = woken) {
    await turn()
    most = Math.max(most, woken - before)
  }
  t.ok(most < count / 2, `${most} of ${count} in a turn`)
})

t.test('listeners with expensive patterns read a large commit from the log themselves', async (t) => {
  const { store, feed } = setUp(t)
  store.tells = () => 'all'
  let asked = 0
  const missed: number[] = []
  const costly = Array.from({ length: 100 }, (_, i) => i)
  for (const i of costly) {
    const scope = scopeOf(`?a/.*${i}/.*`)
    scope.has = () => {
      asked++
      spin(0.5)
      return false
    }
    await listen(t, feed, scope, { onMissed: () => missed.push(i) })
  }
  const plain: number[] = []
  await listen(t, feed, scopeOf('*a/999//'), { onPages: (pages) => plain.push(pages.length) })
  await listen(t, feed, scopeOf('?elsewhere/.*/x'), {})
  await eventually(() => feed.position !== undefined)
  store.commit(Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`a/${i}/x`, i])))
  await eventually(() => missed.length > 0)
  const told = missed.toSorted((a, b) => a - b)
  t.strictSame(told, costly, 'each listener is notified once')
  t.ok(asked < 500, `${asked} of 100,000 matches were tried`)
  await eventually(() => plain.length > 0)
  t.strictSame(plain, [1], 'a listener without a pattern gets its page')
  const before = feed.position?.place ?? Buffer.alloc(0)
  store.commit({ b: 1 })
  await eventually(() => feed.position?.place.equals(before) === false)
  t.equal(missed.length, 100, 'a commit without matches notifies no listener')
})
