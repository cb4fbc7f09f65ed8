/** A worker's state of keys: expiry, revocations, rates and counts, with a simulated clock and store. */
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { KeyLabels } from '../../dist/auth/key-counts.js'
import { Keyring } from '../../dist/auth/keyring.js'
import { hashToken } from '../../dist/auth/token.js'
import type { KeyRecord } from '../../dist/keys/record.js'
import { keyNamesCountedMax } from '../../dist/settings/limits.js'
import type { TopicStore } from '../../dist/store/store.js'
import { present } from '../support/elements.js'
import { recordMaps } from '../support/recorded-maps.js'
import { turns } from '../support/turns.js'

const startMs = Date.parse('2030-01-01T00:00:00Z')

const record = (name: string, limits: Partial<KeyRecord> = {}): KeyRecord => ({
  name,
  tokenHash: hashToken(name),
  allow: ['fetch'],
  under: [],
  madeMs: 0,
  ...limits,
})

/** A keyring over records that the test changes, with simulated time. */
async function open(t: Test, ...first: readonly KeyRecord[]) {
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: startMs })
  t.teardown(() => mock.timers.reset())
  let records = first
  let revision = 1
  const hanging = { polls: false }
  /** Writes of the last uses: the number started, and a function that finishes the last one while they hang. */
  const touches = { count: 0, hang: false, end: (): void => {} }
  const store: Partial<TopicStore> = {
    keysRevision: () => (hanging.polls ? new Promise<number>(() => {}) : Promise.resolve(revision)),
    readKeys: () => Promise.resolve(records),
    touchKeys: () => {
      touches.count++
      return touches.hang ? new Promise<void>((resolve) => (touches.end = resolve)) : Promise.resolve()
    },
  }
  const keyring = await Keyring.open(store as TopicStore, (error) => t.fail(String(error)), 4)
  t.teardown(() => {
    touches.hang = false
    touches.end()
    const closed = keyring.close()
    mock.timers.tick(1000)
    return closed
  })
  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 250) {
      mock.timers.tick(Math.min(250, ms - passed))
      await turns(4)
    }
  }
  const isKnown = (token: string): boolean => keyring.find(`Apikey ${token}`) !== undefined
  const change = (...changed: readonly KeyRecord[]): void => {
    records = changed
    revision++
  }
  return { keyring, pass, isKnown, change, hanging, touches }
}

t.test('a key is rejected within a second of its expiry, even if the store hangs', async (t) => {
  const { keyring, pass, isKnown, hanging } = await open(
    t,
    record('brief', { expiresMs: startMs + 5000 }),
    record('long'),
  )
  await pass(250)
  hanging.polls = true
  await pass(4749)
  t.ok(isKnown('brief'), '1 ms before its expiry')
  t.ok(isKnown('brief'), 'from the cache')
  t.notOk(keyring.hasExpired('Apikey brief'))
  await pass(1000)
  t.notOk(isKnown('brief'), 'after its expiry')
  t.ok(keyring.hasExpired('Apikey brief') && keyring.hasExpired('Bearer brief'), 'both schemes report the expiry')
  t.notOk(keyring.hasExpired('Apikey other') || keyring.hasExpired('Apikey long') || keyring.hasExpired(''))
  t.ok(isKnown('long'), 'another key stays valid')
})

t.test('an unused key is rejected from its expiry on', async (t) => {
  const { pass, isKnown } = await open(t, record('brief', { expiresMs: startMs + 100 }))
  await pass(100)
  t.notOk(isKnown('brief'))
})

t.test('a key is valid again after a fast clock is set back', async (t) => {
  const { pass, isKnown } = await open(t, record('brief', { expiresMs: startMs + 5000 }))
  t.ok(isKnown('brief'))
  mock.timers.setTime(startMs + 10_000)
  await pass(500)
  t.notOk(isKnown('brief'))
  mock.timers.setTime(startMs)
  await pass(500)
  t.ok(isKnown('brief'))
})

t.test('a revoked key is rejected within a second, even if the disk is slow', async (t) => {
  const { pass, isKnown, change, touches } = await open(t, record('a'))
  touches.hang = true
  t.ok(isKnown('a'))
  await pass(180_000)
  t.equal(touches.count, 1, 'one write of its use is in flight')
  t.ok(isKnown('a'), 'the key is still known')
  change()
  await pass(1000)
  t.notOk(isKnown('a'))
})

t.test('a key whose revocation fails is accepted again', async (t) => {
  const { keyring, isKnown, change } = await open(t, record('a'), record('b'))
  let changes = 0
  keyring.watch(() => changes++)
  const accepted = (): string => ['a', 'b'].filter(isKnown).join()
  t.equal(accepted(), 'a,b')
  keyring.suspend(1, 'a')
  t.equal(accepted(), 'b', 'immediately')
  t.equal(changes, 1, 'the streams of the key are notified')
  await keyring.reload()
  t.equal(accepted(), 'b', 'even after a reload')
  keyring.resume(1)
  t.equal(accepted(), 'a,b', 'the revocation has failed')
  for (const revocation of [2, 3, 3]) keyring.suspend(revocation, 'a')
  keyring.resume(2)
  t.equal(accepted(), 'b', 'the second revocation waits')
  change(record('b'))
  await keyring.reload()
  keyring.resume(3)
  t.equal(accepted(), 'b', 'the key is revoked')
})

t.test('both tokens of a rotated key count as one caller until the old token expires', async (t) => {
  const former = (name: string, untilMs: number) => ({ former: { tokenHash: hashToken(`old-${name}`), untilMs } })
  const { keyring, pass, isKnown, change } = await open(
    t,
    record('a', former('a', startMs + 2000)),
    record('b', { ...former('b', startMs + 9000), expiresMs: startMs + 5000 }),
  )
  t.equal(keyring.find('Apikey old-a'), present(keyring.find('Apikey a')), 'one caller')
  await pass(3000)
  t.strictSame([isKnown('old-a'), isKnown('a')], [false, true], 'the former token has expired')
  t.ok(keyring.hasExpired('Apikey old-a'))
  t.strictSame([isKnown('old-b'), isKnown('b')], [true, true])
  await pass(3000)
  t.strictSame([isKnown('old-b'), isKnown('b')], [false, false], 'no token outlives its key')
  change()
  await pass(500)
  t.strictSame([isKnown('a'), keyring.hasExpired('Apikey old-a')], [false, false], 'a revoked key is forgotten')
})

t.test("a worker enforces its share of a key's rate across both tokens of the key", async (t) => {
  const rotated = record('a', { rate: 8, former: { tokenHash: hashToken('old'), untilMs: startMs + 60_000 } })
  const { keyring, pass, change } = await open(t, rotated, record('free'))
  const limit = (token: string) => present(keyring.find(`Apikey ${token}`)?.rateLimit)
  t.strictSame(
    [limit('a').tryTake(), limit('old').tryTake(), limit('a').tryTake()],
    [true, true, false],
    'a burst of 8 / 4',
  )
  t.equal(keyring.find('Apikey free')?.rateLimit, undefined)
  const before = limit('a')
  change(rotated, record('more'))
  await pass(500)
  t.ok(keyring.find('Apikey more'), 'the change is known')
  t.equal(limit('a'), before, 'the change does not refill the rate')
  change({ ...rotated, rate: 4 })
  await pass(500)
  t.not(limit('a'), before, 'another rate starts over')
})

t.test('requests with the first keys used are counted by key name, and all others together', async (t) => {
  const names = Array.from({ length: keyNamesCountedMax + 2 }, (_, i) => `key-${i}`)
  const { keyring, pass, change } = await open(t, ...[...names].reverse().map((name) => record(name)), record('other'))
  const request = (name: string, count: number): void => {
    present(keyring.find(`Apikey ${name}`)).count.requests += count
  }
  request('other', 1)
  for (const name of names) request(name, 10)
  change(record('key-0', { tokenHash: hashToken('new') }))
  await pass(500)
  request('new', 5)
  const counts = new Map(keyring.requests())
  t.equal(counts.size, keyNamesCountedMax + 1)
  t.equal(counts.get('key-0'), 15, 'a key that is created again continues its count')
  t.equal(counts.get(`key-${keyNamesCountedMax - 1}`), 10, 'the last key that is counted by name')
  t.equal(counts.get('other'), 21, 'the two keys after it, and the key named other')
})

t.test('a key name keeps its metric label, so that sums over the workers never decrease', (t) => {
  const labels = new KeyLabels()
  const worker = (first: number): readonly string[] =>
    Array.from({ length: keyNamesCountedMax }, (_, i) => labels.of(`key-${first + i}`))
  t.equal(labels.of('other'), 'other', 'other takes no place')
  const first = worker(0)
  t.equal(new Set(first).size, keyNamesCountedMax)
  const second = worker(50)
  t.strictSame([second[0], second[49], second[50], second[99]], ['key-50', 'key-99', 'other', 'other'])
  t.strictSame(worker(0), first)
  t.end()
})

t.test("the cache of spellings of a key's authorization header is bounded", async (t) => {
  const maps = recordMaps(t, (key) => /^bearer +spelled$/i.test(String(key)))
  const { keyring } = await open(t, record('spelled'))
  t.ok(keyring.find(`bearer${' '.repeat(1100)}spelled`))
  t.equal(maps.size, 0, 'a long spelling is not kept')
  let most = 0
  for (let i = 0; i < 10_100; i++) {
    const scheme = [...'bearer'].map((letter, at) => ((i >> at) & 1 ? letter.toUpperCase() : letter)).join('')
    keyring.find(`${scheme}${' '.repeat(1 + i / 64)}spelled`)
    most = Math.max(most, ...[...maps].map(({ size }) => size))
  }
  t.equal(most, 10_000, 'at most 10,000 spellings are kept')
})
