/**
 * The log on PostgreSQL: the single order of commits of several hosts, each logged in full or not at all, trimming, and checks.
 * store/change-log tests which topics each write logs. store/log-tokens tests how long the log can be read from a place.
 */
import t, { type Test } from 'tap'
import { planSelector } from '../../dist/selectors/planner.js'
import type { LogPlace } from '../../dist/store/changes.js'
import { openStore } from '../../dist/store/open.js'
import { openPostgresStore } from '../../dist/store/postgres/open.js'
import type { TopicStore } from '../../dist/store/store.js'
import type { WriteOperation } from '../../dist/store/topics.js'
import { pathOfKeyText } from '../../dist/topics/key.js'
import { at, only } from '../support/elements.js'
import { skippableTime } from '../support/skipped-time.js'
import { type LoggedCommit, lengthenLog, readLog, setClockBack } from '../support/stores/change-log.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute } from '../support/stores/postgres-cluster.js'
import { creation, findingsOf, path, single } from '../support/stores/store.js'

const engine = await postgres()
const options = { skip: engine === undefined && skipReason, timeout: 600_000 } as const

const value = Buffer.from('1')

const set = (topic: string): WriteOperation => ({ kind: 'set', path: path(topic), type: 'json', valueText: value })
const add = (topic: string): WriteOperation => ({ kind: 'add', ...creation(topic), valueText: undefined })
const addAndSet = (topic: string): WriteOperation => ({ kind: 'addAndSet', ...creation(topic), valueText: value })
const remove = (topic: string): WriteOperation => ({ kind: 'remove', path: path(topic), valueText: undefined })

/** Shared by all tests, because the times that a store's time slices remember must not lie in the future. */
const time = skippableTime(t)

/** Opens the store for `work`, as a separate process would. */
async function withStore(
  t: Test,
  address: string,
  work: (store: TopicStore) => Promise<unknown>,
  changesKept = 10_000,
): Promise<void> {
  const store = await openStore(address, { directory: t.testdir(), changesKept })
  try {
    await work(store)
    t.strictSame(await findingsOf(store), [], 'the store is sound')
  } finally {
    await store.close()
  }
}

await t.test('a process with one session for reads can read the log', options, async (t) => {
  const store = await openPostgresStore((await engine?.database()) ?? '', { sharers: 1000 })
  t.teardown(() => store.close())
  t.ok(await store.inSnapshot((log) => log.end()))
})

await t.test('a write that cannot be logged is rolled back', options, async (t) => {
  const address = (await engine?.database()) ?? ''
  await withStore(t, address, async (store) => {
    await store.write([add('a'), add('b')])
    const versions = () => execute(address, `select key, version from topicd.topics order by key`)
    const before = await versions()
    await execute(
      address,
      `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'planted'; end $$;
       create trigger refuse before insert on topicd.log for each row execute function refuse()`,
    )
    for (const write of [[set('a')], [set('a'), set('b')], [remove('a')], [add('c')]])
      await t.rejects(store.write(write), { message: /planted/ })
    t.strictSame(await versions(), before)
    await execute(address, 'drop trigger refuse on topicd.log')
    t.strictSame(await store.write([set('a')]), ['set'])
  })
})

/** One of several ways to change topics. */
function change(number: number): readonly WriteOperation[] {
  const topic = `t/${number % 50}`
  switch (number % 5) {
    case 0:
      return [set(topic)]
    case 1:
      return [addAndSet(topic)]
    case 2:
      return [addAndSet(topic), addAndSet(`t/${(number + 7) % 50}`)]
    case 3:
      return [add(topic)]
    default:
      return [remove(topic)]
  }
}

await t.test('readers see the commits of three hosts in the same order', options, async (t) => {
  const address = (await engine?.database()) ?? ''
  // A database may have other defaults: here a transaction sees the state at its start and hardly waits for others.
  const database = only(await execute(address, 'select quote_ident(current_database()) as name')).name
  await execute(
    address,
    `alter database ${database} set default_transaction_isolation = 'repeatable read';
     alter database ${database} set lock_timeout = '1ms'`,
  )
  const stores = await Promise.all(
    [1, 2, 3].map(() => openStore(address, { directory: t.testdir(), changesKept: 100_000, sharers: 3 })),
  )
  t.teardown(() => Promise.all(stores.map((store) => store.close())))
  let before = await readLog(address)
  let reads = 0
  const failures: unknown[] = []
  const isOver = (): boolean => (before.length > 500 && reads > 50) || failures.length > 0
  const writers = stores.flatMap((store, index) =>
    Array.from({ length: 10 }, async (_, writer) => {
      for (let number = 13 * index + writer; !isOver(); number += 11)
        await store.write(change(number)).catch((error: unknown) => failures.push(error))
    }),
  )
  for (; !isOver(); reads++) {
    const log = await readLog(address)
    t.strictSame(log.slice(0, before.length), before, 'a commit is visible only with all before it')
    before = log
  }
  await Promise.all(writers)
  t.strictSame(failures, [], 'no commit fails because of another')
  t.strictSame(await findingsOf(at(stores, 0)), [], 'no commit and no change is missing')
})

/** The paths that changed after a place. */
async function pathsAfter(store: TopicStore, place: LogPlace): Promise<readonly string[] | 'gone'> {
  const changes = await store.inSnapshot((log) => log.changesAfter(place, 10, (changes) => changes))
  return changes === 'gone' ? changes : changes.keys.map(pathOfKeyText)
}

/** Deletes the last commit, as if it had been lost. */
async function forgetLast(address: string): Promise<void> {
  await execute(
    address,
    `delete from topicd.topics where version > (select version from topicd.log order by version desc offset 1 limit 1);
     delete from topicd.log where version = (select max(version) from topicd.log)`,
  )
}

await t.test('a log position in or after a commit that a failover lost counts as gone', options, async (t) => {
  const address = (await engine?.database()) ?? ''
  await withStore(t, address, async (store) => {
    const end = () => Promise.resolve(store.inSnapshot((log) => log.end()))
    await store.write([addAndSet('a')])
    const before = await end()
    await store.write([addAndSet('b')])
    const lost = await end()
    const last = at((await readLog(address)).slice(-1), 0).version
    await forgetLast(address)
    t.equal(await pathsAfter(store, lost), 'gone', 'the row is missing')
    t.strictSame(await pathsAfter(store, before), [], 'an earlier place is still known')
    await store.write([addAndSet('c')])
    t.equal(await pathsAfter(store, lost), 'gone', 'another commit has followed')
    t.strictSame(await pathsAfter(store, before), ['c'])
    // The successor's clock may be behind.
    for (const table of ['log', 'topics'])
      await execute(address, `update topicd.${table} set version = ${last - 1n} where version > ${last}`)
    await store.write([addAndSet('d')])
    t.equal(await pathsAfter(store, lost), 'gone', 'another commit has the same number of changes before it')

    const known = await end()
    await store.write([addAndSet('e'), addAndSet('f'), addAndSet('g')])
    const within = await store.inSnapshot((log) =>
      log.changesAfter(known, 10, (changes) => (changes === 'gone' ? changes : changes.placeAt(2))),
    )
    if (within === 'gone') return void t.fail('the place is known')
    t.strictSame(await pathsAfter(store, within), ['g'])
    await forgetLast(address)
    t.equal(await pathsAfter(store, within), 'gone', 'the place is within a missing commit')
    await store.write([addAndSet('h'), addAndSet('i'), addAndSet('j')])
    t.equal(await pathsAfter(store, within), 'gone', 'the place is within a different commit')
    for (const place of [Buffer.alloc(3), Buffer.alloc(28, 255), Buffer.alloc(200, 255)])
      t.equal(await pathsAfter(store, place), 'gone', 'a place that never existed')
  })
})

/** Changes `count` topics, in a few commits. */
async function write(store: TopicStore, count: number): Promise<void> {
  for (let start = 0; start < count; start += 10)
    await Promise.all(
      Array.from({ length: Math.min(10, count - start) }, (_, i) =>
        single.addAndSet(store, creation(`t/${(start + i) % 100}`), value),
      ),
    )
}

/** The rows followed by fewer changes than are kept, and the last row. */
function neededOf(log: readonly LoggedCommit[], changesKept: number): readonly LoggedCommit[] {
  const last = at(log, log.length - 1)
  return log.filter((row) => row === last || last.total - row.total < changesKept)
}

/** Lets a store trim the log, as it does every 10 s. */
async function trim(store: TopicStore): Promise<void> {
  time.pass(30_000)
  await store.removeDue(planSelector)
}

await t.test('trimming the log keeps the newest changes and the last row', options, async (t) => {
  const address = (await engine?.database()) ?? ''
  await withStore(t, address, (store) => write(store, 600))
  const whole = await readLog(address)
  for (const changesKept of [600, 200, 0, 1_000_000]) {
    const before = await readLog(address)
    await withStore(t, address, trim, changesKept)
    t.strictSame(await readLog(address), neededOf(before, changesKept), `${changesKept} changes are kept`)
  }
  t.strictSame(await readLog(address), whole.slice(-1), 'the last row stays')
  await withStore(t, address, (store) => write(store, 10))
  t.equal(at(await readLog(address), -1 + (await readLog(address)).length).total, 610n, 'the count continues')
})

await t.test('many rows of the log are trimmed in several statements', options, async (t) => {
  const address = (await engine?.database()) ?? ''
  await lengthenLog(address, 2500)
  await withStore(t, address, trim, 1)
  t.equal((await readLog(address)).length, 1)
})

await t.test('rows with versions in the future are trimmed like any other rows', options, async (t) => {
  const address = (await engine?.database()) ?? ''
  await withStore(t, address, (store) => write(store, 600))
  await setClockBack(address, 3_600_000)
  await withStore(t, address, (store) => write(store, 100))
  const before = await readLog(address)
  await withStore(t, address, trim, 200)
  t.strictSame(await readLog(address), neededOf(before, 200))
})

const last = '(select max(version) from topicd.log)'
const middle = '(select version from topicd.log order by version offset 3 limit 1)'

await t.test('an unreadable row of the log is reported once, and readers start over after it', options, async (t) => {
  const address = (await engine?.database()) ?? ''
  const named: string[] = []
  const store = await openPostgresStore(address, { onUnreadable: ({ message }) => named.push(message) })
  t.teardown(() => store.close())
  const before = await store.inSnapshot((log) => log.end())
  await store.write([addAndSet('a')])
  await execute(address, `update topicd.log set keys = substr(keys, 1, 2) where version = ${last}`)
  for (let i = 0; i < 2; i++)
    t.equal(await store.inSnapshot((log) => log.changesAfter<unknown>(before, 100, (changes) => changes)), 'gone')
  t.match(named, [/^record \d+ of the log: its keys cannot be read/])
})

const damages: readonly (readonly [name: string, damage: string, finding: RegExp])[] = [
  [
    'a topic without a version',
    `update topicd.topics set version = 0 where item like '%t/3"%'`,
    /^item at "t\/3": its version is 0, not a positive integer$/,
  ],
  [
    'a topic with a future version',
    `update topicd.topics set version = ${last} + 1 where item like '%t/3"%'`,
    /^item at "t\/3": its version is \d+, but the last one is \d+$/,
  ],
  [
    'a missing row',
    `delete from topicd.log where version = ${middle}`,
    /^record \d+ of the log: it counts 4 changes in total, but there are 3$/,
  ],
  ['no row', 'delete from topicd.log', /^the log has no record, so the last version is unknown$/],
  [
    'missing keys',
    `update topicd.log set keys = '' where version = ${middle}`,
    /^record \d+ of the log: it counts 3 changes in total, but there are 2$/,
  ],
  [
    'truncated keys',
    `update topicd.log set keys = substr(keys, 1, 4) where version = ${middle}`,
    /^record \d+ of the log: its keys cannot be read$/,
  ],
  [
    'a wrong total',
    `update topicd.log set total = total + 1 where version = ${last}`,
    /^record \d+ of the log: it counts 7 changes in total, but there are 6$/,
  ],
  [
    'a change that is not in the log',
    `update topicd.log set keys = '\\x0003740034' where version = ${middle}`,
    /^item at "t\/2": its version is \d+, but the log does not contain that change$/,
  ],
]

await t.test('a check finds each kind of damage to the log and to the versions of topics', options, async (t) => {
  for (const [name, damage, finding] of damages) {
    const address = (await engine?.database()) ?? ''
    await withStore(t, address, async (store) => {
      for (let i = 0; i < 6; i++) await store.write([addAndSet(`t/${i}`)])
    })
    await execute(address, damage)
    const store = await openStore(address, { directory: t.testdir() })
    const found = await findingsOf(store).finally(() => store.close())
    t.ok(
      found.some((text) => finding.test(text)),
      `${name}: ${found.join('; ')}`,
    )
  }
})
