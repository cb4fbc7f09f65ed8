/**
 * Pages, polls and streams over a store whose reads take their time: whatever changes meanwhile is shown, nothing is shown
 * that is older than what was shown before, and each ends with the state.
 */

import { strict as assert } from 'node:assert'
import t, { type Test } from 'tap'
import { inSlice } from '../../dist/base/time-slices.js'
import { Feed } from '../../dist/changes/feed.js'
import { LiveChanges } from '../../dist/changes/live-changes.js'
import { bodyOf, bytesOf } from '../../dist/changes/page.js'
import { type ChangesStore, readPageAfter } from '../../dist/changes/pages.js'
import { Polls } from '../../dist/changes/polls.js'
import { Scope } from '../../dist/changes/scope.js'
import { Streams } from '../../dist/changes/streams.js'
import { decodeToken, encodeToken } from '../../dist/changes/token.js'
import type { Outlet } from '../../dist/http/answer.js'
import type { LogSnapshot } from '../../dist/store/changes.js'
import { StoreError } from '../../dist/store/errors.js'
import { storedForms } from '../../dist/store/topics.js'
import { encodeKey, keyTextOf } from '../../dist/topics/key.js'
import { type Random, seededRandom } from '../support/random.js'
import { type ChangesPage, Fold } from '../support/service/changes.js'
import { endlessSlice } from '../support/slices.js'
import { SlowStore } from '../support/stores/slow-store.js'
import { planned } from '../support/stores/store.js'
import { eventually, turn, turns } from '../support/turns.js'

const waiting = { aborted: false, onAborted: undefined }
const bounds = { bytesMax: 1_000_000, cancellation: waiting }

function scopeOf(selector: string, size = 100): Scope {
  return new Scope({ text: selector, plan: planned(selector), under: undefined, form: storedForms.json, size })
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Lets all work finish that does not wait for the store. */
const settle = (): Promise<void> => turns(100)

/** A client: what it was shown, and whether anything went back. */
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

/** A client of one stream, which takes no more while `isBlocked` is set. */
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
function openStream(streams: Streams, scope: Scope, since?: string) {
  const { outlet, ...recorded } = recordingClient()
  const stream = streams.create({
    scope,
    since: since === undefined ? undefined : decodeToken(since),
    refusal: () => undefined,
    onEnd: () => recorded.ends.push('ended'),
  })
  stream.begin(outlet)
  return { stream, ...recorded }
}

const noDefect = (t: Test) => (error: unknown) => t.fail(String(error))

t.test('what changes while the present state is read is on a later page', async (t) => {
  const store = new SlowStore()
  store.commit({ a: 1, b: 1 })
  store.onPage = () => {
    store.onPage = () => {}
    store.commit({ a: 2 })
  }
  const client = new Client()
  for (let next: string | undefined; !client.isComplete; next = client.next) {
    const page = await readPageAfter(store, scopeOf('*.*'), next === undefined ? undefined : decodeToken(next), bounds)
    if (page === 'gone') throw new Error('it has gone')
    client.take(JSON.parse(bodyOf(bytesOf(page)).toString()) as ChangesPage)
  }
  t.strictSame(client.state(), store.state(), 'a change during the walk is shown')
})

t.test('what changes while a stream joins is sent to it', async (t) => {
  const store = new SlowStore()
  store.commit({ a: 1 })
  const now = await readPageAfter(store, scopeOf('*.*'), 'now', bounds)
  if (now === 'gone') throw new Error('it has gone')
  const streams = new Streams(store, new Feed(store), noDefect(t))
  const releases: (() => void)[] = []
  store.delay = () => new Promise<void>((resolve) => releases.push(resolve))
  const { stream, client, state } = openStream(streams, scopeOf('*.*'), encodeToken(now.next))
  /** The read that has been waiting for longest. */
  const oldest = async (): Promise<() => void> => {
    await eventually(() => releases.length > 0)
    return releases.shift() as () => void
  }
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
  t.equal(state.sent, 1, 'a stream that reads is sent nothing by the feed')
  store.delay = () => Promise.resolve()
  ofStream()
  await eventually(() => client.state().a === 2)
  t.strictSame(client.state(), { a: 2 }, 'nothing between the reading and the feed is lost')
  stream.end('rotated')
  t.equal(store.followers, 0, 'nobody follows the log for nobody')
})

t.test('a stream since now shows what changes once it is opened, before it is sent anything', async (t) => {
  const store = new SlowStore()
  store.commit({ a: 1 })
  const changes = new LiveChanges(store, 1, noDefect(t))
  const options = { scope: scopeOf('*.*'), since: 'now', refusal: () => undefined } as const
  const opened = await changes.openStream(options, 'key')
  if (typeof opened === 'string') throw new Error(opened)
  store.commit({ a: 2 })
  const { client, outlet } = recordingClient()
  opened.begin(outlet)
  await eventually(() => client.isComplete)
  t.strictSame(client.state(), { a: 2 })
  t.equal(await changes.openStream(options, 'key'), 'full')
  opened.onGone()
  const unsent = await changes.openStream(options, 'key')
  if (typeof unsent === 'string') throw new Error(unsent)
  unsent.onGone()
  t.equal(changes.stats().streams, 0, 'one that never began gives its seat back')
  const late = changes.openStream(options, 'key')
  changes.drain()
  t.equal(await late, 'draining', 'a drain while it is opened')
})

t.test('a stream whose key was revoked while it was opened ends at once', async (t) => {
  const store = new SlowStore()
  const streams = new Streams(store, new Feed(store), noDefect(t))
  const { client, outlet, ends } = recordingClient()
  const onEnd = (): void => void ends.push('ended')
  streams.create({ scope: scopeOf('*.*'), since: undefined, refusal: () => 'unauthorized', onEnd }).begin(outlet)
  await eventually(() => ends.length === 2)
  t.match(ends.join(), /"code":"unauthorized"/)
  t.equal(store.followers, 0)
  t.strictSame(client.state(), {})
})

t.test('a stream that is ended before it begins says so once it does', async (t) => {
  const store = new SlowStore()
  for (const [end, expected] of [
    [(changes: LiveChanges) => changes.keysChanged(), /^id:\nevent: end\ndata: \{"code":"access_changed"/],
    [(changes: LiveChanges) => changes.drain(), /^event: end\ndata: \{"code":"draining"/],
  ] as const) {
    const changes = new LiveChanges(store, 1, noDefect(t))
    let isRevoked = false
    const refusal = () => (isRevoked ? 'access_changed' : undefined)
    const opened = await changes.openStream({ scope: scopeOf('*.*'), since: 'now', refusal }, 'key')
    if (typeof opened === 'string') throw new Error(opened)
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

t.test('who joins while the only other leaves, and the feed has just begun, is told all the same', async (t) => {
  const store = new SlowStore()
  const feed = new Feed(store)
  const streams = new Streams(store, feed, noDefect(t))
  const releases: (() => void)[] = []
  store.delay = () => new Promise<void>((resolve) => releases.push(resolve))
  const first = openStream(streams, scopeOf('*a//'))
  await eventually(() => releases.length > 0)
  first.stream.onGone()
  const second = openStream(streams, scopeOf('*b//'))
  store.delay = () => Promise.resolve()
  for (const release of releases) release()
  await eventually(() => second.client.isComplete)
  await settle()
  store.commit({ 'b/1': 1 })
  await eventually(() => second.client.topics.size === 1)
  t.equal(store.followers, 1, 'the log is followed for it')
  second.stream.end('rotated')
  t.equal(store.followers, 0)
})

t.test('a stream is sent what the feed has read, however long nothing of its scope had changed', async (t) => {
  const store = new SlowStore()
  const streams = new Streams(store, new Feed(store), noDefect(t))
  const { stream, client } = openStream(streams, scopeOf('*a//'))
  await eventually(() => client.isComplete && !stream.isBehind)
  let reads = 0
  store.delay = () => Promise.resolve(reads++)
  for (let n = 1; n <= 5; n++) {
    store.commit({ 'b/1': n })
    await eventually(() => reads === n)
  }
  store.commit({ 'a/1': 1 })
  await eventually(() => client.topics.size === 1)
  t.equal(reads, 6, 'one read of the feed for each commit, and none of the stream')
  stream.end('rotated')
})

t.test('a commit that concerns nobody is not read, if it is told of and comes next', async (t) => {
  const store = new SlowStore()
  const feed = new Feed(store)
  const streams = new Streams(store, feed, noDefect(t))
  t.teardown(() => streams.endAll('rotated'))
  const { stream, client, ends } = openStream(streams, scopeOf('*a//'))
  await eventually(() => client.isComplete && !stream.isBehind)
  let reads = 0
  store.delay = () => Promise.resolve(reads++)
  const end = (): Promise<unknown> => Promise.resolve(store.inSnapshot((log) => log.end()))
  store.tells = () => 'all'
  for (let n = 1; n <= 5; n++) {
    store.commit({ 'b/1': n })
    t.strictSame(feed.position?.place, await end(), 'it is behind the feed at once')
  }
  t.equal(reads, 5, 'those of this test')
  reads = 0
  store.commit({ 'b/1': 6, 'a/1': 6 })
  await eventually(() => client.topics.size === 1)
  t.equal(reads, 1, 'one that concerns a stream is read')
  store.tells = () => 'none'
  store.commit({ 'a/1': 7 })
  store.tells = () => 'all'
  store.commit({ 'b/1': 8 })
  await eventually(() => client.state()['a/1'] === 7)
  t.equal(reads, 2, 'so is one before which another was not told of')
  await eventually(() => feed.position?.place.readUInt32BE() === 8)

  const others = openStream(streams, scopeOf('*b//'))
  await eventually(() => others.client.isComplete && !others.stream.isBehind)
  store.commit({ 'b/2': 9 })
  await eventually(() => others.client.topics.size === 2)
  for (const opened of [stream, others.stream]) opened.end('rotated')
  t.equal(ends.length, 2)
  t.equal(store.followers, 0)
})

t.test('what is told of late, and was read already, is not read again', async (t) => {
  const store = new SlowStore()
  const streams = new Streams(store, new Feed(store), noDefect(t))
  t.teardown(() => streams.endAll('rotated'))
  const { stream, client } = openStream(streams, scopeOf('*a//'))
  await eventually(() => client.isComplete && !stream.isBehind)
  const late: (() => void)[] = []
  store.tells = () => 'all'
  store.deliver = (tell) => late.push(tell)
  let reads = 0
  store.delay = () => Promise.resolve(reads++)
  for (let n = 1; n <= 3; n++) store.commit({ 'a/1': n })
  late.shift()?.()
  await eventually(() => client.state()['a/1'] === 3)
  await settle()
  // More than one where a slice of its time ended in between.
  const before = reads
  for (const tell of late) tell()
  await settle()
  t.equal(reads, before)
  store.deliver = (tell) => tell()
  store.commit({ 'b/1': 4 })
  store.commit({ 'a/1': 5 })
  await eventually(() => client.state()['a/1'] === 5)
  t.ok(reads > before, 'what follows is read')
})

t.test('a stream says at once that there is nothing more, also after several pages and when it goes on', async (t) => {
  const store = new SlowStore()
  store.commit({ a: 1, b: 1, c: 1 })
  const streams = new Streams(store, new Feed(store), noDefect(t))
  const first = openStream(streams, scopeOf('*.*', 2))
  await eventually(() => first.client.isComplete)
  t.strictSame(first.client.state(), store.state())
  const second = openStream(streams, scopeOf('*.*', 2), first.client.next)
  await eventually(() => second.client.isComplete)
  t.equal(second.client.topics.size, 0, 'nothing has changed')
  for (const { stream } of [first, second]) stream.end('rotated')
})

t.test('with reads of any length, clients get the state, and nothing goes back', async (t) => {
  const random = seededRandom(t)
  const store = new SlowStore()
  store.delay = () => (random.oneIn(3) ? Promise.resolve() : sleep(random.below(4)))
  let isWriting = true
  store.tells = () => (isWriting ? random.pick(['all', 'all', 'all', 'some', 'none']) : 'some')
  store.deliver = (tell) => void (random.oneIn(3) ? setTimeout(tell, random.below(6)) : tell())
  const feed = new Feed(store)
  const streams = new Streams(store, feed, noDefect(t))
  const polls = new Polls(store, feed)
  const scopes = ['*.*', '*a//', '*b//', '>a/1'].map((selector) => scopeOf(selector, 1 + random.below(4)))
  const polled = scopes.map((scope) => poll(polls, scope, random, () => isWriting))
  const opened = [...scopes, scopes[0] as Scope].map((scope) => openStream(streams, scope))
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
    if (!state.isBlocked) continue
    state.isBlocked = false
    stream.onWritable()
  }
  const clients = [...(await Promise.all(polled)), ...opened.map(({ client }) => client)]
  for (const [i, client] of clients.entries()) {
    const scope = scopes[i < scopes.length ? i : (i - scopes.length) % scopes.length] as Scope
    const expected = Object.entries(store.state()).filter(([path]) =>
      scope.has(path.replaceAll('/', '\0'), endlessSlice),
    )
    const isDone = (): boolean =>
      JSON.stringify(sorted(client.state())) === JSON.stringify(sorted(Object.fromEntries(expected)))
    await eventually(() => isDone() && client.isComplete)
    t.strictSame(client.wrong, [], `client ${i}: nothing goes back`)
  }
  for (const { stream } of opened) stream.end('rotated')
  t.equal(store.followers, 0)
})

function sorted(state: Readonly<Record<string, unknown>>): readonly (readonly [string, unknown])[] {
  return Object.entries(state).sort(([a], [b]) => (a < b ? -1 : 1))
}

async function poll(polls: Polls, scope: Scope, random: Random, goesOn: () => boolean): Promise<Client> {
  const client = new Client()
  for (;;) {
    const isLast = !goesOn()
    const since = client.next === undefined ? undefined : decodeToken(client.next)
    const body = await polls.page(scope, since, isLast ? 0 : random.below(30), 1_000_000, { ...waiting })
    if (body === 'gone') throw new Error('it has gone')
    client.take(JSON.parse(body.toString()) as ChangesPage)
    if (isLast && client.isComplete) return client
  }
}

t.test('a stream ends as it should when the log has gone, or cannot be read', async (t) => {
  const store = new SlowStore()
  store.commit({ a: 1 })
  const feed = new Feed(store)
  const streams = new Streams(store, feed, noDefect(t))
  const first = openStream(streams, scopeOf('*.*'))
  await eventually(() => first.client.isComplete)
  store.isTrimmed = true
  store.commit({ a: 2 })
  await eventually(() => first.ends.length > 0)
  t.match(first.ends[0], /^id:\nevent: end\ndata: \{"code":"since_gone"/, 'the id is not to be sent again')
  const changes = new LiveChanges(store, 1, noDefect(t))
  const since = decodeToken(first.client.next ?? '')
  const opened = await changes.openStream({ scope: scopeOf('*.*'), since, refusal: () => undefined }, 'key')
  if (typeof opened === 'object') opened.onGone()
  t.equal(opened, 'gone')
  t.match(changes.stats(), { goneTokens: 1, streams: 0 })
  store.isTrimmed = false
  const second = openStream(streams, scopeOf('*.*'))
  await eventually(() => second.client.isComplete)
  store.delay = () => Promise.reject(new StoreError('unavailable', 'away'))
  store.commit({ a: 3 })
  await eventually(() => second.ends.length > 0)
  t.match(second.ends[0], /"code":"store_unavailable"/)
  t.equal(store.followers, 0)
})

t.test('a poll whose client has gone, and one that is drained, waits no longer', async (t) => {
  const store = new SlowStore()
  const feed = new Feed(store)
  const polls = new Polls(store, feed)
  const ongoing: { aborted: boolean; onAborted: (() => void) | undefined } = { ...waiting }
  const gone = polls.page(scopeOf('*.*'), 'now', 60_000, 1000, ongoing)
  await eventually(() => store.followers > 0)
  ongoing.aborted = true
  ongoing.onAborted?.()
  await t.rejects(gone)
  await eventually(() => store.followers === 0)
  const drained = polls.page(scopeOf('*.*'), 'now', 60_000, 1000, { ...waiting })
  await eventually(() => store.followers > 0)
  polls.drain()
  t.match(String(await drained), /^\{"has_more":false,"results":\[\],"next":/)
  t.match(String(await polls.page(scopeOf('*.*'), 'now', 60_000, 1000, { ...waiting })), /"results":\[\]/)
})

t.test('a poll whose client goes during its first read does not wait', async (t) => {
  const store = new SlowStore()
  const polls = new Polls(store, new Feed(store))
  const ongoing = { aborted: false, onAborted: undefined }
  const gone = polls.page(scopeOf('*.*'), 'now', 1, 1000, ongoing)
  ongoing.aborted = true
  await t.rejects(gone, 'it is not answered when its time is over')
  t.equal(store.followers, 0)
})

t.test('a stream shows every 15 s that it lives, and lasts from 8 to 12 minutes', async (t) => {
  const store = new SlowStore()
  const streams = new Streams(store, new Feed(store), noDefect(t))
  const beforeMs = performance.now()
  const opened = Array.from({ length: 50 }, () => openStream(streams, scopeOf('*.*')))
  await eventually(() => opened.every(({ client }) => client.isComplete))
  const nowMs = performance.now()
  for (const { stream, client, state, ends } of opened) {
    const { sent } = state
    const { next } = client
    stream.check(nowMs + 15_000)
    t.equal(state.sent, sent + 1, 'a sign of life')
    t.ok(client.isComplete && client.topics.size === 0)
    t.equal(client.next, next, 'with the place where it is')
    stream.check(beforeMs + 480_000)
    t.strictSame(ends, [])
    stream.check(nowMs + 721_000)
    t.match(ends[0], /"code":"rotated"/)
  }
  t.equal(store.followers, 0)
})

/** Pages after which an endless log ends, so that a stream that would read on for ever fails the test instead. */
const pagesMax = 50_000

/** A log in which there is always another change, read at once. */
function endlessStore(): ChangesStore & { reads: number } {
  const key = keyTextOf(encodeKey('a'))
  const place = Buffer.alloc(8)
  const changes = { keys: [key, key], isAll: false, placeAt: () => place }
  const log: LogSnapshot = {
    end: () => place,
    changesAfter: (_place, _keysMax, take) => take(changes, endlessSlice),
    readItems: (_paths, _form, _bytesMax, take) => void take(Buffer.from('{"path":"a","type":"json","value":1}')),
  }
  return {
    reads: 0,
    inSnapshot(work) {
      if (++this.reads > pagesMax) throw new Error('nothing else had its turn')
      return inSlice(() => work(log))
    },
    isAfter: () => false,
    followLog: () => () => {},
    readPage: () => assert.fail('nobody asked for the present state'),
  }
}

t.test('a stream that is never done lets others have their turn', async (t) => {
  const store = endlessStore()
  const wrong: unknown[] = []
  // The feed, which reads on as well, is not what is tested.
  const feed = { add: async () => {}, remove() {}, position: undefined } as unknown as Feed
  const streams = new Streams(store, feed, (error) => wrong.push(error))
  const place = { place: Buffer.alloc(8), walk: undefined }
  const { stream, state, ends } = openStream(streams, scopeOf('*.*', 1), encodeToken(place))
  await eventually(() => state.sent > 100 || ends.length > 0)
  stream.end('draining')
  t.strictSame(wrong, [])
  t.match(ends[0], /"code":"draining"/)
})

t.test('listeners that one commit wakes work in several turns, so that others have theirs', async (t) => {
  const store = new SlowStore()
  const feed = new Feed(store)
  const count = 50
  let woken = 0
  for (let i = 0; i < count; i++) {
    await feed.add(scopeOf('*a//'), {
      onPages() {
        woken++
        for (const endMs = performance.now() + 1; performance.now() < endMs; );
      },
      onMissed: () => t.fail('it is on a page'),
      onFailure: (error) => t.fail(String(error)),
    })
  }
  store.commit({ 'a/1': 1 })
  let most = 0
  for (let before = 0; woken < count; before = woken) {
    await turn()
    most = Math.max(most, woken - before)
  }
  t.ok(most < count / 2, `${most} of ${count} in a turn`)
})

t.test('changes whose scopes take long to ask are left to the listeners, each of which reads in slices', async (t) => {
  const store = new SlowStore()
  store.tells = () => 'all'
  let asked = 0
  const missed: number[] = []
  const feed = new Feed(store)
  const scopes = Array.from({ length: 100 }, (_, i) => {
    const scope = scopeOf(`?a/.*${i}/.*`)
    scope.has = () => {
      asked++
      for (const endMs = performance.now() + 0.5; performance.now() < endMs; );
      return false
    }
    return scope
  })
  for (const [i, scope] of scopes.entries()) {
    await feed.add(scope, {
      onPages: () => t.fail('it is not known what is on them'),
      onMissed: () => missed.push(i),
      onFailure: (error) => t.fail(String(error)),
    })
  }
  const plain: number[] = []
  await feed.add(scopeOf('*a/999//'), {
    onPages: (pages) => plain.push(pages.length),
    onMissed: () => t.fail('ranges are always compared'),
    onFailure: (error) => t.fail(String(error)),
  })
  await feed.add(scopeOf('?elsewhere/.*/x'), {
    onPages: () => t.fail('nothing of it has changed'),
    onMissed: () => t.fail('nor could it have'),
    onFailure: (error) => t.fail(String(error)),
  })
  await eventually(() => feed.position !== undefined)
  store.commit(Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`a/${i}/x`, i])))
  await eventually(() => missed.length > 0)
  t.strictSame(
    missed.toSorted((a, b) => a - b),
    [...scopes.keys()],
    'each is told once',
  )
  t.ok(asked < 500, `${asked} of 100,000 questions were asked`)
  await eventually(() => plain.length > 0)
  t.strictSame(plain, [1], 'what needs no pattern gets its page')
  const before = feed.position
  store.commit({ b: 1 })
  await eventually(
    () => feed.position !== undefined && before !== undefined && !feed.position.place.equals(before.place),
  )
  t.equal(missed.length, 100, 'and of what concerns none of them, nobody is told')
})
