/**
 * The cost of a page over PostgreSQL depends only on the page. It does not depend on topics of the other type in between, the size of the
 * tree or the position of the page, nor, in a listing of children, on the topics below them. A read, write or removal of a topic also uses
 * an index, regardless of the planner's statistics. Costs are counted in blocks or index entries that the engine reads, so the machine's
 * speed does not matter.
 */
import { strict as assert } from 'node:assert'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { planSelector } from '../../dist/selectors/planner.js'
import { openPostgresStore } from '../../dist/store/postgres/open.js'
import type { TopicStore } from '../../dist/store/store.js'
import { type ItemForm, storedForms, type WriteOperation, type WriteOutcome } from '../../dist/store/topics.js'
import type { Path } from '../../dist/topics/path.js'
import { until } from '../support/service/server.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute } from '../support/stores/postgres-cluster.js'
import { creation, planned, waiting } from '../support/stores/store.js'

const topics = 50_000

/** Blocks for a page of 10, or for reading or writing one topic: a few levels of a few indexes, and the blocks of the rows. */
const blocksMax = 30

/** Topics that are read or written together. */
const atOnce = 20

const engine = await postgres()
const skip = engine === undefined && skipReason

/** Fills two trees. In one of them, topics of the other type lie between the first and the last. */
const fill = `
  insert into topicd.topics (key, type, generation, created, updated, version, item)
  select convert_to(tree, 'UTF8') || '\\x00'::bytea || convert_to(to_char(n, 'FM000000'), 'UTF8'),
    case when tree = 'mixed' and n not in (1, ${topics}) then 2 else 1 end, 1, 0, 0, 1,
    '{"path":"' || tree || '/' || to_char(n, 'FM000000') || '","type":"' ||
    case when tree = 'mixed' and n not in (1, ${topics}) then 'string' else 'json' end || '","value":"' || n || '"}'
  from generate_series(1, ${topics}) n, (values ('json'), ('mixed')) trees (tree)`

/** Ways to fill the table, by the resulting state of the planner. */
const fillings: Readonly<Record<string, readonly string[]>> = {
  'has no statistics, as right after filling': [fill],
  'expects hardly any topics, as if the tree had just been small': [
    fill,
    `delete from topicd.topics where key <> (select key from topicd.topics order by key desc limit 1)`,
    'vacuum topicd.topics',
    'analyze topicd.topics',
    `${fill} on conflict do nothing`,
  ],
}

const path = (run: number, index = atOnce): Path => `json/00${1000 + 97 * run + index}` as Path
const paths = (run: number): Path[] => Array.from({ length: atOnce }, (_, index) => path(run, index))
const newPaths = (run: number): string[] => paths(run).map((_, index) => `new/${run}/${index}`)
const value = Buffer.from('1')
const versioned = { type: 'any', values: true, properties: true, versions: true } as const

const set = (path: Path) => ({ kind: 'set', path, type: 'json', valueText: value }) as const
const addAndSet = (path: string) => ({ kind: 'addAndSet', ...creation(path), valueText: value }) as const
const add = (path: string) => ({ kind: 'add', ...creation(path), valueText: undefined }) as const
const remove = (path: Path) => ({ kind: 'remove', path, valueText: undefined }) as const

/** Runs all operations in one batch; each must have this outcome. */
async function write(store: TopicStore, operations: readonly WriteOperation[], outcome: WriteOutcome): Promise<void> {
  const results = await store.write(operations)
  assert.deepEqual(
    results,
    operations.map(() => outcome),
  )
}

/** Runs each operation in its own request, all concurrently; each must have this outcome. */
async function writeEach(
  store: TopicStore,
  operations: readonly WriteOperation[],
  outcome: WriteOutcome,
): Promise<void> {
  await Promise.all(operations.map((operation) => write(store, [operation], outcome)))
}

async function readEach(store: TopicStore, paths: readonly Path[], form: ItemForm): Promise<void> {
  for (const item of await Promise.all(paths.map((path) => store.readTopic(path, form)))) {
    assert(typeof item !== 'string', `no item: ${String(item)}`)
  }
}

type Work = (store: TopicStore, run: number) => Promise<void>

/** Reads and writes of one topic. */
const singly: Readonly<Record<string, Work>> = {
  'a fetch by path': (store, run) => readEach(store, [path(run)], storedForms.json),
  'a fetch by path with properties and version': (store, run) => readEach(store, [path(run)], versioned),
  'a set': (store, run) => write(store, [set(path(run))], 'set'),
  'an addAndSet': (store, run) => write(store, [addAndSet(path(run))], 'updated'),
  'an add': (store, run) => write(store, [add(`add/${run}`)], 'created'),
  'a removal': (store, run) => write(store, [remove(path(run))], 'removed'),
}

/** Reads and writes of `atOnce` topics. */
const together: Readonly<Record<string, Work>> = {
  fetches: (store, run) => readEach(store, paths(run), storedForms.json),
  'items of changes': async (store, run) => {
    let items = 0
    const take = (item: Uint8Array | undefined): boolean => item !== undefined && ++items > 0
    await store.inSnapshot((log) => log.readItems(paths(run), storedForms.json, 2 ** 20, take))
    assert.equal(items, atOnce)
  },
  sets: (store, run) => writeEach(store, paths(run).map(set), 'set'),
  addAndSets: (store, run) => writeEach(store, paths(run).map(addAndSet), 'updated'),
  'a batch that creates': (store, run) => write(store, newPaths(run).map(addAndSet), 'created'),
  'a batch that compares and updates': (store, run) =>
    write(
      store,
      paths(run).map((path) => ({ ...set(path), constraint: { kind: 'value', text: value } })),
      'set',
    ),
  'a batch that removes': (store, run) => write(store, paths(run).map(remove), 'removed'),
}

/** Waits until topicd's connections have closed; by then the engine has counted their work. */
async function disconnected(store: string): Promise<void> {
  await until('the connections have ended', async () => {
    const others = await execute(
      store,
      `select 1 from pg_stat_activity where application_name = 'topicd' and datname = current_database()`,
    )
    return others.length === 0 ? true : undefined
  })
}

/** Blocks of the topics and their indexes that closed connections have read. */
async function blocks(store: string): Promise<number> {
  await disconnected(store)
  const [row] = await execute(
    store,
    `select sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read) as sum
     from pg_statio_user_tables where schemaname = 'topicd' and relname = 'topics'`,
  )
  return Number(row?.sum)
}

for (const [belief, steps] of Object.entries(fillings)) {
  const name = `pages, reads and writes touch few blocks of a large tree even if the planner ${belief}`
  await t.test(name, { skip, timeout: 600_000 }, async (t) => {
    const store = (await engine?.database()) ?? ''
    await execute(store, 'alter table topicd.topics set (autovacuum_enabled = off)')
    for (const step of steps) await execute(store, step)

    /** The blocks that one run of `work` touches, on average. */
    async function cost(work: Work): Promise<number> {
      const runs = 8
      const before = await blocks(store)
      const opened = await openPostgresStore(store)
      for (let run = 0; run < runs; run++) await work(opened, run)
      await opened.close()
      return ((await blocks(store)) - before) / runs
    }

    async function readPage(
      opened: TopicStore,
      selector: string,
      { after, form }: { readonly after: string | undefined; readonly form: ItemForm },
      results: number,
    ): Promise<void> {
      const plan = planned(selector)
      const query = { plan, form, branches: undefined, size: 10, bytesMax: 2 ** 20, after: after as Path | undefined }
      const { buffer, start, end } = await opened.readPage(query, waiting)
      const items = JSON.parse(`[${buffer.subarray(start, end).toString()}]`) as unknown[]
      if (items.length !== results) t.fail(`${selector}: ${items.length} results`)
    }

    const pages: Readonly<Record<string, readonly [selector: string, after: string | undefined, results: number]>> = {
      'the first page of a tree': ['*json//', undefined, 10],
      'a page deep in a tree': ['*json//', `json/0${topics - 20}`, 10],
      'two topics with 49,998 of the other type between them': ['*mixed//', undefined, 2],
      'the same topics by a pattern': ['?mixed/0.*', undefined, 2],
    }
    const forms = { '': storedForms.json, ', with versions': { ...versioned, type: 'json' } } as const
    for (const [name, [selector, after, results]] of Object.entries(pages)) {
      for (const [suffix, form] of Object.entries(forms)) {
        const touched = await cost((opened) => readPage(opened, selector, { after, form }, results))
        t.ok(touched > 0 && touched < blocksMax, `${name}${suffix}: ${touched.toFixed(1)} blocks`)
      }
    }
    for (const [name, work] of Object.entries(singly)) {
      const touched = await cost(work)
      t.ok(touched > 0 && touched < blocksMax, `${name}: ${touched.toFixed(1)} blocks`)
    }
    for (const [name, work] of Object.entries(together)) {
      const touched = (await cost(work)) / atOnce
      t.ok(touched > 0 && touched < blocksMax, `${name}: ${touched.toFixed(1)} blocks for each topic`)
    }
  })
}

/** Due topics, half of them with a clause, and topics that fall due in decades. */
const due = 2000
const notDue = 30_000
const farMs = 4e12

/** Interval at which a service looks for due topics. Each look passes over the entries of all topics removed before. */
const betweenLooksMs = 1000

/** Blocks for a due topic: half of the topics are read and removed, the others are read and written twice. */
const blocksOfDueMax = 60

const policy = (clause: string): string =>
  JSON.stringify({ REMOVAL: `when time after "Sat, 1 Jan 2000 00:00:00 GMT"${clause}` })

await t.test('automatic removal touches few blocks for each due topic', { skip, timeout: 600_000 }, async (t) => {
  const store = (await engine?.database()) ?? ''
  await execute(store, 'alter table topicd.topics set (autovacuum_enabled = off)')
  await execute(
    store,
    `insert into topicd.topics (key, type, generation, created, updated, version, item, properties)
       select convert_to('due', 'UTF8') || '\\x00'::bytea || convert_to(to_char(n, 'FM000000'), 'UTF8'), 1, 1, 0, 0, 1,
         '{"path":"due/' || to_char(n, 'FM000000') || '","type":"json","value":1}',
         case when n % 2 = 0 then '${policy(' remove "?nothing/.*"')}' else '${policy('')}' end
       from generate_series(1, ${due + notDue}) n`,
  )
  await execute(store, 'vacuum topicd.topics')
  await execute(store, 'analyze topicd.topics')
  const first = `(select key from topicd.topics order by key limit 1 offset ${due})`
  await execute(store, `update topicd.topics set due = case when key < ${first} then 1 else ${farMs} end`)
  const before = await blocks(store)
  const opened = await openPostgresStore(store)
  let removed = 0
  await until('all to be removed or to have no policy left', async () => {
    await sleep(betweenLooksMs)
    const outcome = await opened.removeDue(planSelector)
    removed += outcome.removed
    assert.deepEqual(outcome.refused, [])
    return outcome.nextMs === farMs ? true : undefined
  })
  await opened.close()
  const touched = ((await blocks(store)) - before) / due
  t.equal(removed, due / 2)
  t.ok(touched > 0 && touched < blocksOfDueMax, `${touched.toFixed(1)} blocks for each topic`)
})

/** Children of one topic, and topics below each child. */
const children = 1000
const topicsPerChild = 100

/** Statements for a page: one finds its keys, one reads their rows. A few more serve all pages. */
const statementsMax = 3

/** Index entries for each result: to find its branch, to read the keys of the branch, and to read the item. */
const entriesMax = 5

await t.test('a listing of children reads few index entries for each child', { skip, timeout: 600_000 }, async (t) => {
  const store = (await engine?.database()) ?? ''
  await execute(store, 'alter table topicd.topics set (autovacuum_enabled = off)')
  await execute(
    store,
    `insert into topicd.topics (key, type, generation, created, updated, version, item)
     select convert_to('a', 'UTF8') || '\\x00'::bytea || convert_to(to_char(n, 'FM0000'), 'UTF8') || '\\x00'::bytea ||
         convert_to(to_char(m, 'FM0000'), 'UTF8'), 1, 1, 0, 0, 1,
       '{"path":"a/' || to_char(n, 'FM0000') || '/' || to_char(m, 'FM0000') || '","type":"json","value":1}'
     from generate_series(1, ${children}) n, generate_series(1, ${topicsPerChild}) m`,
  )

  /** Rows and index entries that closed connections have read. */
  async function entries(): Promise<number> {
    await disconnected(store)
    const [row] = await execute(
      store,
      `select (select seq_tup_read from pg_stat_user_tables where schemaname = 'topicd' and relname = 'topics') +
         sum(idx_tup_read) as sum from pg_stat_user_indexes where schemaname = 'topicd' and relname = 'topics'`,
    )
    return Number(row?.sum)
  }

  /** Statements so far, each in its own transaction. Opening a store and counting also take a few. */
  async function statements(): Promise<number> {
    await disconnected(store)
    const [row] = await execute(store, `select xact_commit from pg_stat_database where datname = current_database()`)
    return Number(row?.xact_commit)
  }

  const unused = await statements()
  await (await openPostgresStore(store)).close()
  const besides = (await statements()) - unused

  for (const [type, values, size, limit] of [
    ['json', true, 100, 1],
    ['json', false, 1000, 3],
    ['any', true, 1000, 1],
    ['any', false, 1000, 3],
  ] as const) {
    const before = await entries()
    const statementsBefore = await statements()
    const opened = await openPostgresStore(store)
    const query = { plan: planned('?a//'), branches: { depth: 2, limit }, size, bytesMax: 2 ** 30 } as const
    const form = { type, values, properties: false, versions: false }
    let results = 0
    let pages = 0
    for (let after: Path | undefined; ; pages++) {
      const page = await opened.readPage({ ...query, form, after }, waiting)
      const items = JSON.parse(`[${page.buffer.toString('utf8', page.start, page.end)}]`) as { path: Path }[]
      results += items.length
      after = items.at(-1)?.path
      if (!page.hasMore) break
    }
    await opened.close()
    const eachPage = ((await statements()) - statementsBefore - besides) / (pages + 1)
    const each = ((await entries()) - before) / results
    // With few pages, the store's other reads distort the average.
    if (size === 100) t.ok(eachPage < statementsMax, `${eachPage.toFixed(1)} statements for each page`)
    t.equal(results, limit * children, `${type}, ${limit} of each, pages of ${size}`)
    t.ok(each > 0 && each <= entriesMax, `${each.toFixed(2)} entries per result`)
  }
})
