/**
 * On each engine, the log of changes names the topics that each write changed, once. In LMDB, the log keeps the configured number of
 * changes, and a check finds impossible records.
 */

import { join } from 'node:path'
import t from 'tap'
import { planSelector } from '../../dist/selectors/planner.js'
import type { LogPlace, LogSnapshot } from '../../dist/store/changes.js'
import { logPositionOf } from '../../dist/store/lmdb/environment/change-record.js'
import { type Environment, openEnvironment } from '../../dist/store/lmdb/environment/environment.js'
import { type LmdbOptions, openLmdbStore } from '../../dist/store/lmdb/open.js'
import { openStore } from '../../dist/store/open.js'
import type { TopicStore } from '../../dist/store/store.js'
import type { WriteOperation } from '../../dist/store/topics.js'
import { pathOfKeyText } from '../../dist/topics/key.js'
import type { Properties } from '../../dist/topics/topic.js'
import { at } from '../support/elements.js'
import { inside, pathsIn } from '../support/stores/environment.js'
import { creation, findingsIn, findingsOf, path, planned, single, waiting } from '../support/stores/store.js'
import { eachStore } from '../support/stores/stores.js'
import { turn } from '../support/turns.js'

interface LogRecord {
  readonly key: Buffer
  readonly version: number
  readonly total: number
  readonly paths: readonly string[]
}

const one = Buffer.from('1')

const setting = (topic: string): WriteOperation => ({ kind: 'set', path: path(topic), type: 'json', valueText: one })
const adding = (topic: string): WriteOperation => ({ kind: 'add', ...creation(topic), valueText: undefined })
const removing = (topic: string): WriteOperation => ({ kind: 'remove', path: path(topic), valueText: undefined })

/** Returns a function that yields the sorted paths of all changes after its previous call. */
async function follow(store: TopicStore): Promise<() => Promise<string[]>> {
  let place = await store.inSnapshot((log) => log.end())
  return async () => {
    const changes = await store.inSnapshot((log) => log.changesAfter(place, 10_000, (changes) => changes))
    if (changes === 'gone' || !changes.isAll) throw new Error('there are more changes than expected')
    place = changes.placeAt(changes.keys.length)
    return changes.keys.map(pathOfKeyText).sort()
  }
}

await eachStore(t, async (t, address) => {
  const store = await openStore(address, { directory: join(t.testdir(), 'db') })
  t.teardown(() => store.close())
  const news = await follow(store)
  const addAndSet = (topic: string, properties: Properties = {}) =>
    single.addAndSet(store, creation(topic, 'json', properties), one)
  const write = (...operations: WriteOperation[]) => store.write(operations)
  const all = <T>(topics: readonly string[], work: (topic: string) => T) => Promise.all(topics.map(work))

  await t.test('each kind of write logs exactly the topics that it changed, each once', async (t) => {
    const note = { note: 'x' }
    const more = { ...note, more: 'y' }
    const compared = (text: string): WriteOperation => ({
      ...setting('a'),
      constraint: { kind: 'value', text: Buffer.from(text) },
    })
    for (const [name, work, changed] of [
      ['add', () => write(adding('a')), ['a']],
      ['add of an existing topic', () => write(adding('a')), []],
      ['many adds', () => all(['b', 'c', 'b'], (topic) => write(adding(topic))), ['b', 'c']],
      ['set', () => write(setting('a')), ['a']],
      ['set of a missing topic', () => write(setting('none')), []],
      ['many sets', () => all(['c', 'b', 'c', 'none'], (topic) => write(setting(topic))), ['b', 'c']],
      ['addAndSet of a new topic', () => addAndSet('d/ü/😀', more), ['d/ü/😀']],
      ['addAndSet', () => addAndSet('d/ü/😀', more), ['d/ü/😀']],
      ['addAndSet of some properties', () => addAndSet('d/ü/😀', note), ['d/ü/😀']],
      ['addAndSet of other properties', () => addAndSet('d/ü/😀', { note: 'z' }), []],
      ['many addAndSets', () => all(['e', 'a'], (topic) => addAndSet(topic)), ['a', 'e']],
      ['a value that is not retained', () => addAndSet('kept/not', { DONT_RETAIN_VALUE: 'true' }), ['kept/not']],
      ['a constraint', () => write(compared('1')), ['a']],
      ['a constraint that does not hold', () => write(compared('2')), []],
      [
        'a batch',
        () => write(setting('a'), adding('g'), setting('g'), removing('b'), adding('h'), removing('h')),
        ['a', 'b', 'g'],
      ],
      ['a removal and a creation', () => write(removing('a'), adding('a')), ['a']],
      ['a rejected batch', () => write(setting('a'), setting('none')), []],
      ['a batch that changes nothing', () => write(adding('a'), removing('none')), []],
      ['remove', () => write(removing('a')), ['a']],
      ['remove of a missing topic', () => write(removing('a')), []],
      ['a removal by selector', () => store.removeMatches(planned('*[cde].*'), waiting), ['c', 'd/ü/😀', 'e']],
    ] satisfies readonly (readonly [string, () => Promise<unknown>, string[]])[]) {
      await work()
      t.strictSame(await news(), changed, name)
    }
    t.strictSame(await findingsOf(store), [])
  })

  await t.test('removals of many topics, by selector and by policies, are logged', async (t) => {
    const paths = Array.from({ length: 600 }, (_, i) => `many/${i}`)
    await all(paths, (topic) => single.add(store, creation(topic)))
    const due = 'when time after 5'
    await single.add(store, creation('due', 'json', { REMOVAL: due }))
    await single.add(store, creation('clause', 'json', { REMOVAL: `${due} remove "?many/1[0-9]//"` }))
    await news()
    let removed = 0
    for (; removed < 11; await turn()) removed += (await store.removeDue(planSelector)).removed
    t.equal(await store.removeMatches(planned('?many//'), waiting), 590)
    t.strictSame(await news(), ['due', ...paths].sort(), 'each once; the topic with the clause stays')
    t.strictSame(await findingsOf(store), [])
  })
})

async function withStore(
  directory: string,
  work: (store: TopicStore) => Promise<void>,
  options: Partial<LmdbOptions> = {},
): Promise<void> {
  const store = openLmdbStore({ directory, ...options })
  try {
    await work(store)
  } finally {
    await store.close()
  }
}

function logOf(directory: string): Promise<readonly LogRecord[]> {
  return inside(directory, ({ changes }) =>
    [...changes.getRange({})].map(({ key, value }) => ({
      key,
      ...logPositionOf(key),
      paths: pathsIn(value),
    })),
  )
}

t.test('an unreadable log record is reported once, is found by a check, and hides no later change', async (t) => {
  const directory = join(t.testdir(), 'db')
  const ends: LogPlace[] = []
  await withStore(directory, async (store) => {
    for (const topic of ['a', 'b', 'c']) {
      await single.add(store, creation(topic))
      ends.push(await store.inSnapshot((log) => log.end()))
    }
  })
  const after = (index: number) => (log: LogSnapshot) => log.changesAfter(at(ends, index), 100, (changes) => changes)
  for (const value of [Buffer.from([0]), Buffer.from([0, 9, 0x62])]) {
    await inside(directory, ({ changes }) => {
      const [, , second] = [...changes.getKeys({})]
      changes.putSync(second as Buffer, value)
    })
    const named: string[] = []
    const onUnreadable = ({ message }: Error): unknown => named.push(message)
    const follow = async (store: TopicStore): Promise<void> => {
      for (let i = 0; i < 2; i++) t.equal(await store.inSnapshot(after(0)), 'gone', 'the reader must start over')
      t.match(named, [/^record \d+ of the log: its keys cannot be read/], 'the record is named once')
      t.match(await store.inSnapshot(after(1)), { keys: ['c'], isAll: true }, 'no change after the record is lost')
      t.match(await store.inSnapshot(after(2)), { keys: [], isAll: true })
    }
    await withStore(directory, follow, { onUnreadable })
    t.match((await findingsIn(directory)).slice(0, 2).at(-1), /^record \d+ of the log: its keys cannot be read$/)
  }
  await inside(directory, ({ changes }) => {
    for (const key of [...changes.getKeys({ limit: 2 })]) changes.removeSync(key)
  })
  await withStore(directory, async (store) => {
    t.match(await store.stats(), { topics: 3 }, 'an unreadable first record does not hide the statistics')
  })
})

await t.test('a failed write leaves no record in the log', async (t) => {
  const directory = join(t.testdir(), 'db')
  await withStore(directory, async (store) => {
    await single.add(store, creation('a'))
  })
  const before = await logOf(directory)
  await inside(directory, ({ specifications }) => specifications.putSync(path('a'), Buffer.from('{{'), 1))
  await withStore(directory, async (store) => {
    await t.rejects(store.write([setting('a')]))
  })
  t.strictSame(await logOf(directory), before)
})

await t.test('the log keeps the newest changes', async (t) => {
  const directory = join(t.testdir(), 'db')
  const changesKept = 50
  const writeSome = (store: TopicStore, commits: number, topics: number): Promise<void> =>
    (async () => {
      for (let i = 0; i < commits; i++) {
        await store.write(
          Array.from({ length: topics }, (_, j) => ({
            kind: 'addAndSet' as const,
            ...creation(`t/${j}`),
            valueText: one,
          })),
        )
      }
    })()
  const kept = async (): Promise<number> => (await logOf(directory)).reduce((sum, { paths }) => sum + paths.length, 0)

  await withStore(directory, (store) => writeSome(store, 30, 7), { changesKept })
  t.equal(await kept(), 56, 'as few whole commits of 7 as contain 50 changes')
  const log = await logOf(directory)
  t.equal(at(log, 0).total, 30 * 7 - 49)
  t.equal(log.length, 8)
  t.strictSame(await findingsIn(directory), [])

  await withStore(directory, (store) => writeSome(store, 1, 200), { changesKept })
  t.equal(await kept(), 200, 'the last commit is enough')
  await withStore(directory, (store) => writeSome(store, 49, 1), { changesKept })
  t.equal(await kept(), 249, 'the commits after it are not enough')
  await withStore(directory, (store) => writeSome(store, 1, 1), { changesKept })
  t.equal(await kept(), 50)
  await withStore(directory, (store) => writeSome(store, 300, 1), { changesKept: 1000 })
  t.equal(await kept(), 350, 'a higher setting')
  await withStore(directory, (store) => writeSome(store, 1, 1), { changesKept: 10 })
  t.equal(await kept(), 10, 'a lower setting')
  t.strictSame(await findingsIn(directory), [])
})

await t.test('a log that keeps no changes retains the last commit and continues its counts', async (t) => {
  const directory = join(t.testdir(), 'db')
  const commits = 20_000
  await withStore(directory, async (store) => {
    const topics = Array.from({ length: 1000 }, (_, i) => creation(`t/${i}`))
    await store.write(topics.map((created) => ({ kind: 'add', ...created, valueText: undefined })))
  })
  await inside(directory, ({ changes, root }) =>
    root.transactionSync(() => {
      // More small commits than one transaction trims.
      const [last] = [...changes.getKeys({ reverse: true, limit: 1 })].map(logPositionOf)
      for (let i = 1; i <= commits; i++) {
        const [version, total] = [(last?.version ?? 0) + i, (last?.total ?? 0) + i]
        const key = Buffer.alloc(16)
        key.writeDoubleBE(version)
        key.writeDoubleBE(total, 8)
        changes.putSync(key, Buffer.from([0, 1, 0x78]))
      }
    }),
  )
  const clock = { wallMs: 0 }
  const options = { changesKept: 0, clock: () => ({ wallMs: clock.wallMs, steadyMs: 0, boot: 'b' }) }
  const before = at((await logOf(directory)).slice(-1), 0)
  await withStore(directory, async (store) => void (await store.write([setting('t/0')])), options)
  t.equal((await logOf(directory)).length, 1 + commits + 2 - 16_000, 'a commit trims part of the log')
  t.strictSame(await findingsIn(directory), [], 'the rest is intact')
  await withStore(directory, async (store) => void (await store.write([setting('t/1'), setting('t/2')])), options)
  const log = await logOf(directory)
  t.match(log, [{ version: before.version + 3, total: before.total + 3, paths: ['t/1', 't/2'] }])
  t.equal(log.length, 1)
  await withStore(directory, async (store) => void (await store.write([setting('t/3')])))
  t.match(await logOf(directory), [{ paths: ['t/1', 't/2'] }, { total: before.total + 4, paths: ['t/3'] }])
  t.strictSame(await findingsIn(directory), [])
})

await t.test('a check finds damage to the log', async (t) => {
  const parent = t.testdir()
  let count = 0
  const damage = async (work: (environment: Environment, log: readonly LogRecord[]) => void): Promise<void> => {
    directory = join(parent, String(count++))
    await withStore(directory, async (store) => {
      for (const topic of ['a', 'b', 'c']) await single.add(store, creation(topic))
    })
    const log = await logOf(directory)
    await inside(directory, (environment) => environment.root.transactionSync(() => work(environment, log)))
  }
  let directory = ''

  await damage(({ changes }, log) => changes.removeSync(at(log, 2).key))
  t.match(await findingsIn(directory), [
    /^record \d+ of the log: it counts 3 changes in total, but there are 2$/,
    /^item at "b": its version is \d+, but the log does not contain that change$/,
  ])

  await damage(({ changes }, log) => changes.putSync(at(log, 1).key, Buffer.from([0, 1, 0x62])))
  t.match(await findingsIn(directory), [/^item at "a": its version is \d+, but the log does not contain that change$/])

  await damage(({ changes }, log) => changes.putSync(at(log, 3).key, Buffer.from([0, 9, 0x63])))
  t.match(await findingsIn(directory), [
    /^record \d+ of the log: it counts 3 changes in total, but there are 2$/,
    /^record \d+ of the log: its keys cannot be read$/,
    /^item at "c": its version is \d+, but the log does not contain that change$/,
  ])

  await damage(({ changes }) => {
    for (const key of [...changes.getKeys({})]) changes.removeSync(key)
  })
  const unopened = openEnvironment(directory)
  await unopened.root.close()
  t.throws(() => openLmdbStore({ directory }), /the store is damaged: its log of changes has no record/)
})
