/**
 * The log of changes in LMDB: each commit's record names the topics that it changed, each once, whatever changed them;
 * the log keeps as many changes as it is told to; and a check finds what cannot be.
 */

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { planSelector } from '../../dist/selectors/planner.js'
import type { LogPlace, LogSnapshot } from '../../dist/store/changes.js'
import { loggedKeys, logPositionOf } from '../../dist/store/lmdb/environment/change-record.js'
import { type Environment, openEnvironment } from '../../dist/store/lmdb/environment/environment.js'
import { type LmdbOptions, openLmdbStore } from '../../dist/store/lmdb/open.js'
import type { TopicStore } from '../../dist/store/store.js'
import type { WriteOperation } from '../../dist/store/topics.js'
import { decodeKey } from '../../dist/topics/key.js'
import { at } from '../support/elements.js'
import { inside } from '../support/stores/environment.js'
import { creation, findingsIn, path, planned, single, waiting } from '../support/stores/store.js'

interface LogRecord {
  readonly key: Buffer
  readonly version: number
  readonly total: number
  readonly paths: readonly string[]
}

const one = Buffer.from('1')

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

/** All records but the first, which only says where the log begins. */
async function logOf(directory: string): Promise<readonly LogRecord[]> {
  return (await wholeLogOf(directory)).slice(1)
}

function wholeLogOf(directory: string): Promise<readonly LogRecord[]> {
  return inside(directory, ({ changes }) =>
    [...changes.getRange({})].map(({ key, value }) => ({
      key,
      ...logPositionOf(key),
      paths: [...loggedKeys(value)].map((key) => decodeKey(key)),
    })),
  )
}

t.test('an unreadable record of the log is skipped, named once, and found by a check', async (t) => {
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
      for (let i = 0; i < 2; i++) t.equal(await store.inSnapshot(after(0)), 'gone', 'it begins anew')
      t.match(named, [/^record \d+ of the log: its keys cannot be read/], 'and the record is named once')
      t.match(await store.inSnapshot(after(1)), { keys: ['c'], isAll: true }, 'after it, nothing is lost')
      t.match(await store.inSnapshot(after(2)), { keys: [], isAll: true })
    }
    await withStore(directory, follow, { onUnreadable })
    t.match((await findingsIn(directory)).at(-1), /^record \d+ of the log: its keys cannot be read$/)
  }
  await inside(directory, ({ changes }) => {
    for (const key of [...changes.getKeys({ limit: 2 })]) changes.removeSync(key)
  })
  await withStore(directory, async (store) => {
    t.match(await store.stats(), { topics: 3 }, 'nor does it hide the statistics when it is the first')
  })
})

const versionOf = ({ items }: Environment, topic: string): number => items.json.getEntry(path(topic))?.version ?? 0

const setting = (topic: string): WriteOperation => ({ kind: 'set', path: path(topic), type: 'json', valueText: one })

await t.test('each commit names the topics that it changed', async (t) => {
  const directory = join(t.testdir(), 'db')
  await withStore(directory, async (store) => {
    await single.add(store, creation('a'))
    await single.add(store, creation('a'))
    await single.addAndSet(store, creation('b/ü/😀', 'string'), one)
    await single.set(store, path('missing'), 'json', one)
    await single.remove(store, path('missing'))
    await single.add(store, creation('kept/not', 'json', { DONT_RETAIN_VALUE: 'true' }))
    await single.set(store, path('kept/not'), 'json', one)
    await store.write([setting('a'), { kind: 'remove', path: path('b/ü/😀'), valueText: undefined }, setting('a')])
    await store.write([setting('a'), setting('missing')])
    const removal = { kind: 'remove', path: path('a'), valueText: undefined } as const
    await store.write([removal, { kind: 'add', ...creation('a', 'string'), valueText: undefined }])
    await store.write([
      { kind: 'add', ...creation('c'), valueText: undefined },
      { ...removal, path: path('c') },
    ])
  })
  const log = await logOf(directory)
  t.strictSame(
    log.map(({ paths }) => paths),
    [['a'], ['b/ü/😀'], ['kept/not'], ['kept/not'], ['a', 'b/ü/😀'], ['a']],
    'neither what was refused nor what changed nothing is named',
  )
  let total = 0
  for (const record of log) {
    total += record.paths.length
    t.equal(record.total, total)
  }
  t.strictSame(await findingsIn(directory), [])
})

await t.test('a record has the version of its last change', async (t) => {
  const directory = join(t.testdir(), 'db')
  await withStore(directory, async (store) => {
    await Promise.all(['a', 'b', 'c'].map((topic) => single.add(store, creation(topic))))
  })
  const [record] = await logOf(directory)
  t.strictSame(record?.paths, ['a', 'b', 'c'], 'they share a commit')
  await inside(directory, (environment) => {
    t.equal(versionOf(environment, 'c'), record?.version)
    t.equal(versionOf(environment, 'a'), (record?.version ?? 0) - 2)
  })
})

await t.test('removals by selector, and of topics that are due, are named', async (t) => {
  const directory = join(t.testdir(), 'db')
  const clock = { wallMs: Date.now() }
  const paths = Array.from({ length: 1200 }, (_, i) => `many/${i}`)
  const options = { clock: () => ({ wallMs: clock.wallMs, steadyMs: clock.wallMs, boot: 'b' }) }
  await withStore(
    directory,
    async (store) => {
      await Promise.all(paths.map((topic) => single.add(store, creation(topic))))
      await single.add(store, creation('due', 'json', { REMOVAL: 'when no updates for 1m' }))
      await single.add(store, creation('clause', 'json', { REMOVAL: 'when no updates for 1m remove "?many/1[0-9]//"' }))
      clock.wallMs += 61_000
      let removed = 0
      for (const deadline = Date.now() + 60_000; removed < 11 && Date.now() < deadline; await sleep(10)) {
        removed += (await store.removeDue(planSelector)).removed
      }
      t.equal(removed, 11)
      t.equal(await store.removeMatches(planned('?many//'), waiting), 1190)
    },
    options,
  )
  const log = await logOf(directory)
  const named = log.flatMap((record) => record.paths).slice(1202)
  t.equal(named[0], 'due')
  t.strictSame(new Set(named.slice(1)), new Set(paths))
  t.equal(named.length, 1201, 'each once; that of the clause stays')
  t.strictSame(await findingsIn(directory), [])
})

await t.test('a write that fails leaves no record', async (t) => {
  const directory = join(t.testdir(), 'db')
  await withStore(directory, async (store) => {
    await single.add(store, creation('a'))
  })
  const before = await wholeLogOf(directory)
  await inside(directory, ({ specifications }) => specifications.putSync(path('a'), Buffer.from('{{'), 1))
  await withStore(directory, async (store) => {
    await t.rejects(store.write([setting('a')]))
  })
  t.strictSame(await wholeLogOf(directory), before)
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
  const kept = async (): Promise<number> =>
    (await wholeLogOf(directory)).reduce((sum, { paths }) => sum + paths.length, 0)

  await withStore(directory, (store) => writeSome(store, 30, 7), { changesKept })
  t.equal(await kept(), 56, 'as few whole commits of 7 as have 50 changes')
  const log = await wholeLogOf(directory)
  t.equal(at(log, 0).total, 30 * 7 - 49)
  t.equal(log.length, 8)
  t.strictSame(await findingsIn(directory), [])

  await withStore(directory, (store) => writeSome(store, 1, 200), { changesKept })
  t.equal(await kept(), 200, 'the last commit is enough')
  await withStore(directory, (store) => writeSome(store, 49, 1), { changesKept })
  t.equal(await kept(), 249, 'those after it are not')
  await withStore(directory, (store) => writeSome(store, 1, 1), { changesKept })
  t.equal(await kept(), 50)
  await withStore(directory, (store) => writeSome(store, 300, 1), { changesKept: 1000 })
  t.equal(await kept(), 350, 'a higher setting')
  await withStore(directory, (store) => writeSome(store, 1, 1), { changesKept: 10 })
  t.equal(await kept(), 10, 'a lower one')
  t.strictSame(await findingsIn(directory), [])
})

await t.test('a log that keeps nothing has the last commit, and goes on from it', async (t) => {
  const directory = join(t.testdir(), 'db')
  const commits = 20_000
  await withStore(directory, async (store) => {
    const topics = Array.from({ length: 1000 }, (_, i) => creation(`t/${i}`))
    await store.write(topics.map((created) => ({ kind: 'add', ...created, valueText: undefined })))
  })
  await inside(directory, ({ changes, root }) =>
    root.transactionSync(() => {
      // As many small commits as one transaction does not trim.
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
  const before = at((await wholeLogOf(directory)).slice(-1), 0)
  await withStore(directory, async (store) => void (await store.write([setting('t/0')])), options)
  t.equal((await wholeLogOf(directory)).length, 1 + commits + 2 - 16_000, 'a commit trims some')
  t.strictSame(await findingsIn(directory), [], 'and what is left is whole')
  await withStore(directory, async (store) => void (await store.write([setting('t/1'), setting('t/2')])), options)
  const log = await wholeLogOf(directory)
  t.match(log, [{ version: before.version + 3, total: before.total + 3, paths: ['t/1', 't/2'] }])
  t.equal(log.length, 1)
  await withStore(directory, async (store) => void (await store.write([setting('t/3')])))
  t.match(await wholeLogOf(directory), [{ paths: ['t/1', 't/2'] }, { total: before.total + 4, paths: ['t/3'] }])
  t.strictSame(await findingsIn(directory), [])
})

await t.test('a store has an id of its own', async (t) => {
  const directory = t.testdir()
  const idOf = (name: string): Promise<number | undefined> =>
    inside(join(directory, name), ({ meta }) => meta.get('storeId')?.readDoubleBE())
  const [first, second] = [await idOf('first'), await idOf('second')]
  t.ok(Number.isSafeInteger(first) && (first ?? 0) > 0)
  t.not(first, second)
  t.equal(await idOf('first'), first, 'it stays')
})

await t.test('a check finds what is wrong with the log', async (t) => {
  const parent = t.testdir()
  let count = 0
  const damage = async (work: (environment: Environment, log: readonly LogRecord[]) => void): Promise<void> => {
    directory = join(parent, String(count++))
    await withStore(directory, async (store) => {
      for (const topic of ['a', 'b', 'c']) await single.add(store, creation(topic))
    })
    const log = await wholeLogOf(directory)
    await inside(directory, (environment) => environment.root.transactionSync(() => work(environment, log)))
  }
  let directory = ''

  await damage(({ changes }, log) => changes.removeSync(at(log, 2).key))
  t.match(await findingsIn(directory), [
    /^item at "b": its version is \d+, but the log has no such change of it$/,
    /^record \d+ of the log: it counts 3 changes, but those before it and its own are 2$/,
  ])

  await damage(({ changes }, log) => changes.putSync(at(log, 1).key, Buffer.from([0, 1, 0x62])))
  t.match(await findingsIn(directory), [/^item at "a": its version is \d+, but the log has no such change of it$/])

  await damage(({ changes }, log) => changes.putSync(at(log, 3).key, Buffer.from([0, 9, 0x63])))
  t.match(await findingsIn(directory), [
    /^item at "c": its version is \d+, but the log has no such change of it$/,
    /^record \d+ of the log: it counts 3 changes, but those before it and its own are 2$/,
    /^record \d+ of the log: its keys cannot be read$/,
  ])

  await damage(({ changes }) => {
    for (const key of [...changes.getKeys({})]) changes.removeSync(key)
  })
  const unopened = openEnvironment(directory)
  await unopened.root.close()
  t.throws(() => openLmdbStore({ directory }), /the store is damaged: its log of changes has no record/)
})
