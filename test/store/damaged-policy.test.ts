/**
 * A topic whose stored REMOVAL is unreadable affects only its own requests: each fails as a whole, all others are executed, due topics are
 * removed, and the topic itself can be removed. A sweep skips, names and counts it.
 */

import { join } from 'node:path'
import t from 'tap'
import { ExpirySweeper } from '../../dist/cluster/expiry-sweeper.js'
import type { Logger } from '../../dist/ops/log.js'
import { planSelector } from '../../dist/selectors/planner.js'
import type { PlanOf } from '../../dist/store/due-removals.js'
import { openLmdbStore } from '../../dist/store/lmdb/open.js'
import { dueKey } from '../../dist/store/lmdb/view/specification.js'
import { openStore } from '../../dist/store/open.js'
import type { TopicStore } from '../../dist/store/store.js'
import { storedForms, type WriteOperation } from '../../dist/store/topics.js'
import type { Path } from '../../dist/topics/path.js'
import { present } from '../support/elements.js'
import { until } from '../support/service/server.js'
import { inside } from '../support/stores/environment.js'
import { execute } from '../support/stores/postgres-cluster.js'
import { creation, findingsOf, load, planned, readItems, single } from '../support/stores/store.js'
import { eachStore } from '../support/stores/stores.js'

const value = Buffer.from('1')

t.test('a damaged removal policy causes only requests to its own topic to fail', async (t) => {
  const directory = join(t.testdir(), 'db')
  const store = openLmdbStore({ directory })
  const removal = { REMOVAL: 'when no updates for 1h' }
  for (const path of ['plain', 'damaged']) await single.addAndSet(store, creation(path, 'json', removal), value)
  await store.close()
  await inside(directory, ({ specifications }) => {
    const record = present(specifications.get('damaged' as Path)).toString()
    specifications.putSync('damaged' as Path, Buffer.from(record.replace('when no', 'whem no')), 1)
  })
  const opened = openLmdbStore({ directory })
  t.teardown(() => opened.close())
  const set = (path: string): WriteOperation => ({ kind: 'set', path: path as Path, type: 'json', valueText: value })
  const addNew: WriteOperation = { kind: 'addAndSet', ...creation('new'), valueText: value }
  const [failed, other] = await Promise.allSettled([
    opened.write([addNew, set('damaged')]),
    opened.write([set('plain')]),
  ])
  t.match(failed, { status: 'rejected', reason: { message: /properties are checked before they are used/ } })
  t.strictSame(other, { status: 'fulfilled', value: ['set'] }, 'another request of the same commit is executed')
  t.equal(await opened.readTopic('new' as Path, storedForms.json), 'no_such_topic', 'the failed request has no effect')
})

const isDue = 'when no updates for 1h or time after 0'
const clause = "when time after 0 remove '*other//'"

/** Ways to damage the properties of a topic, which are JSON. */
const damages: Readonly<Record<string, (stored: string) => string>> = {
  policy: (stored) => stored.replace('when', 'whem'),
  json: (stored) => stored.slice(0, -1),
  null: () => 'null',
  'not-text': (stored) => stored.replace(/"when[^"]*"/, '7'),
}

async function damageLmdb(directory: string): Promise<void> {
  await inside(directory, ({ specifications, updates, meta, due }) => {
    const change = (path: string, change: (details: string) => string): void => {
      const record = present(specifications.get(path as Path)).toString()
      specifications.putSync(path as Path, Buffer.from(record[0] + change(record.slice(1))), 1)
    }
    for (const [number, [how, damage]] of Object.entries(damages).entries()) {
      change(`a/${how}`, damage)
      // The clause of this topic is waiting.
      change(`z/${how}`, (details) => {
        const key = dueKey(0, number)
        due.putSync(key, Buffer.from(`z/${how}`))
        const [, former = ''] = /"due":"(\w+)"/.exec(details) ?? []
        due.removeSync(Buffer.from(former, 'hex'))
        return damage(details.replace(former, key.toString('hex')))
      })
    }
    updates.putSync('a/time' as Path, Buffer.from('{"wallMs":"?"}'), 1)
    change('z/time', (details) => details.replace(/"created":\{[^}]*\}/, '"created":0'))
    // A damaged reading of the clock and malformed `due` entries, which belong to no topic.
    meta.putSync('clock', Buffer.from('{"offset":'))
    for (const [number, value] of ['', '//', 'x'.repeat(3000)].entries())
      due.putSync(dueKey(5, number), Buffer.from(value))
    due.putSync(Buffer.from([0, 0, 0, 1]), Buffer.from('b'))
  })
}

async function damagePostgres(address: string): Promise<void> {
  for (const name of ['a', 'z']) {
    for (const [how, damage] of Object.entries(damages)) {
      const key = `decode('${Buffer.from(`${name}\0${how}`).toString('hex')}', 'hex')`
      const [row] = await execute(address, `select properties from topicd.topics where key = ${key}`)
      const damaged = damage(String(row?.properties)).replaceAll("'", "''")
      const due = name === 'z' ? ', due = 0' : ''
      await execute(address, `update topicd.topics set properties = '${damaged}'${due} where key = ${key}`)
    }
    const key = `decode('${Buffer.from(`${name}\0time`).toString('hex')}', 'hex')`
    await execute(
      address,
      `update topicd.topics set created = ${2n ** 63n - 1n}, updated = ${2n ** 63n - 1n} where key = ${key}`,
    )
  }
}

/** The paths that a walk yields, and the message of its failure. */
async function walked(store: TopicStore): Promise<{ readonly paths: string[]; readonly message: string }> {
  const paths: string[] = []
  try {
    for await (const { path } of store.walk(planned('?.*//'), { aborted: false })) paths.push(path)
    return { paths, message: '' }
  } catch (error) {
    return { paths, message: (error as Error).message }
  }
}

await eachStore(t, async (t, address) => {
  const options = { directory: join(t.testdir(), 'db') }
  const names = [...Object.keys(damages), 'time']
  const damaged = ['a', 'z'].flatMap((name) => names.map((how) => `${name}/${how}`)).sort()
  const opened = await openStore(address, options)
  for (const [how, first, second] of [
    ...Object.keys(damages).map((how) => [how, isDue, clause] as const),
    ['time', 'when no updates for 1s', 'when no updates for 1s after 1s'] as const,
  ]) {
    await single.add(opened, creation(`a/${how}`, 'json', { REMOVAL: first }))
    await single.add(opened, creation(`z/${how}`, 'json', { REMOVAL: second }))
  }
  for (const path of ['b', 'y']) await single.add(opened, creation(path, 'json', { REMOVAL: isDue }))
  await single.add(opened, creation('zz', 'json', { REMOVAL: clause }))
  await load(opened, ['other/1', 'stays'])
  await opened.close()
  await (address === 'lmdb' ? damageLmdb(options.directory) : damagePostgres(address))

  const store = await openStore(address, options)
  t.teardown(() => store.close())
  const named: string[] = []
  const failed: unknown[] = []
  const log = {
    info() {},
    warn() {},
    error: ({ topic, ...others }: { topic?: string }) =>
      topic === undefined ? failed.push(others) : named.push(topic),
  }
  let sweeps = 0
  const counted = { ...store, removeDue: (planOf: PlanOf) => store.removeDue(planOf).finally(() => sweeps++) }
  const sweeper = new ExpirySweeper(counted, log as unknown as Logger)
  t.teardown(() => sweeper.enable(false))
  sweeper.enable(true)
  const paths = async (): Promise<string> =>
    (await readItems(store, { plan: planned('?.*//') })).items.map(({ path }) => path).join()
  const left = [...damaged, 'stays', 'zz'].sort().join()
  await until('due topics are removed, and the clause is executed', async () => (await paths()) === left || undefined)
  await until('all damaged topics are named', async () => named.length === damaged.length || undefined)
  const before = sweeps
  await until('more sweeps follow', async () => sweeps > before + 1 || undefined)
  t.strictSame(named.sort(), damaged, 'each topic is named once')
  t.equal(sweeper.unreadable, damaged.length, 'each topic is counted')
  t.strictSame(failed, [])
  sweeper.enable(false)

  const findings = await findingsOf(store)
  for (const path of damaged)
    t.ok(
      findings.some((finding) => finding.includes(`"${path}": `)),
      `check finds ${path}`,
    )
  const whole = await walked(store)
  const readable = [...damaged.filter((path) => !/json|null/.test(path)), 'stays', 'zz'].sort()
  t.strictSame(whole.paths, readable, 'an export has every readable topic')
  t.match(
    whole.message,
    /: 4 topics, the first at "a\/json", could not be read; all others could\./,
    'the error names the first unreadable topic',
  )
  t.equal(await store.removeMatches(planned('?[az]/'), { aborted: false }), damaged.length, 'all can be removed')
  const nextMs = async (): Promise<unknown> => (await store.removeDue(planSelector)).nextMs
  await until('nothing is due', async () => (await nextMs()) === undefined || undefined)
  t.strictSame(await findingsOf(store), [], 'the store is sound again')
})
