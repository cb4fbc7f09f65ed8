/**
 * What a page costs over PostgreSQL depends on the page alone: not on topics of the other type in between, not on the
 * size of the tree, not on how deep in it the page begins, and for a listing of children not on what is below them. A
 * read or write by path uses an index too. Costs are counted in blocks that the engine touches, or in entries that it
 * reads of its indexes, so the machine's speed does not matter.
 */

import t from 'tap'
import { planSelector } from '../../dist/selectors/planner.js'
import { openPostgresStore } from '../../dist/store/postgres/open.js'
import type { TopicStore } from '../../dist/store/store.js'
import { storedForms } from '../../dist/store/topics.js'
import type { Path } from '../../dist/topics/path.js'
import { until } from '../support/service/server.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute } from '../support/stores/postgres-cluster.js'
import { single } from '../support/stores/store.js'

const topics = 50_000

/** Blocks for a page of 10, or a write: a few levels of a few indexes, and those of the rows. */
const blocksMax = 30

const engine = await postgres()

await t.test(
  'pages, reads and writes touch few blocks of a large tree',
  { skip: engine === undefined && skipReason, timeout: 120_000 },
  async (t) => {
    const store = (await engine?.database()) ?? ''
    // Without statistics of the table, as it is when it has just been filled, the planner is at its worst.
    await execute(store, 'alter table topicd.topics set (autovacuum_enabled = off)')
    await execute(
      store,
      `insert into topicd.topics (key, type, retains, generation, created, updated, item)
     select convert_to(tree, 'UTF8') || '\\x00'::bytea || convert_to(to_char(n, 'FM000000'), 'UTF8'),
       case when tree = 'mixed' and n not in (1, ${topics}) then 2 else 1 end, true, 1, 0, 0,
       '{"path":"' || tree || '/' || to_char(n, 'FM000000') || '","type":"' ||
       case when tree = 'mixed' and n not in (1, ${topics}) then 'string' else 'json' end || '","value":"' || n || '"}'
     from generate_series(1, ${topics}) n, (values ('json'), ('mixed')) trees (tree)`,
    )

    /** Blocks of the topics and their indexes that were touched by connections that have ended. */
    async function blocks(): Promise<number> {
      await until('the connections to end', async () => {
        const others = await execute(
          store,
          `select 1 from pg_stat_activity where application_name = 'topicd' and datname = current_database()`,
        )
        return others.length === 0 ? true : undefined
      })
      const [row] = await execute(
        store,
        `select sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read) as sum
       from pg_statio_user_tables where schemaname = 'topicd' and relname = 'topics'`,
      )
      return Number(row?.sum)
    }

    /** The blocks that one run of `work` touches, on average. */
    async function cost(work: (opened: TopicStore, run: number) => Promise<void>): Promise<number> {
      const runs = 20
      const before = await blocks()
      const opened = await openPostgresStore(store)
      for (let run = 0; run < runs; run++) await work(opened, run)
      await opened.close()
      return ((await blocks()) - before) / runs
    }

    async function readPage(
      opened: TopicStore,
      selector: string,
      after: string | undefined,
      results: number,
    ): Promise<void> {
      const plan = planSelector(selector)
      if ('problem' in plan) throw new Error(`${selector} ${plan.problem}`)
      const query = { plan, form: storedForms.json, branches: undefined, size: 10, bytesMax: 2 ** 20 }
      const { buffer, start, end } = await opened.readPage(
        { ...query, after: after as Path | undefined },
        { aborted: false },
      )
      const items = JSON.parse(`[${buffer.subarray(start, end).toString()}]`) as unknown[]
      if (items.length !== results) t.fail(`${selector}: ${items.length} results`)
    }

    const pages: Readonly<Record<string, readonly [selector: string, after: string | undefined, results: number]>> = {
      'the first page of a tree': ['*json//', undefined, 10],
      'a page deep in a tree': ['*json//', `json/0${topics - 20}`, 10],
      'two topics with 49,998 of the other type between them': ['*mixed//', undefined, 2],
      'the same topics by a pattern': ['?mixed/0.*', undefined, 2],
    }
    for (const [name, [selector, after, results]] of Object.entries(pages)) {
      const touched = await cost((opened) => readPage(opened, selector, after, results))
      t.ok(touched > 0 && touched < blocksMax, `${name}: ${touched.toFixed(1)} blocks`)
    }

    const path = (run: number): Path => `json/00${1000 + 97 * run}` as Path
    const works: Readonly<Record<string, (opened: TopicStore, run: number) => Promise<unknown>>> = {
      'a fetch by path': async (opened, run) => opened.readTopic(path(run), storedForms.json),
      'a set': (opened, run) => single.set(opened, path(run), 'json', Buffer.from('1')),
      'an addAndSet': (opened, run) =>
        single.addAndSet(
          opened,
          { path: path(run), type: 'json', properties: {}, removal: undefined },
          Buffer.from('2'),
        ),
      'a removal': (opened, run) => single.remove(opened, path(run)),
    }
    for (const [name, work] of Object.entries(works)) {
      const touched = await cost(async (opened, run) => void (await work(opened, run)))
      t.ok(touched > 0 && touched < blocksMax, `${name}: ${touched.toFixed(1)} blocks`)
    }
  },
)

/** Children of one topic, and topics below each child. */
const children = 1000
const topicsPerChild = 100

/** Entries of indexes for each result: those that find a branch, read its keys, and read its item. */
const entriesMax = 5

await t.test(
  'a listing of children reads few entries of the indexes for each, however many topics are below',
  { skip: engine === undefined && skipReason, timeout: 120_000 },
  async (t) => {
    const store = (await engine?.database()) ?? ''
    await execute(store, 'alter table topicd.topics set (autovacuum_enabled = off)')
    await execute(
      store,
      `insert into topicd.topics (key, type, retains, generation, created, updated, item)
     select convert_to('a', 'UTF8') || '\\x00'::bytea || convert_to(to_char(n, 'FM0000'), 'UTF8') || '\\x00'::bytea ||
         convert_to(to_char(m, 'FM0000'), 'UTF8'), 1, true, 1, 0, 0,
       '{"path":"a/' || to_char(n, 'FM0000') || '/' || to_char(m, 'FM0000') || '","type":"json","value":1}'
     from generate_series(1, ${children}) n, generate_series(1, ${topicsPerChild}) m`,
    )

    /** Entries that were read by connections that have ended. */
    async function entries(): Promise<number> {
      await until('the connections to end', async () => {
        const others = await execute(
          store,
          `select 1 from pg_stat_activity where application_name = 'topicd' and datname = current_database()`,
        )
        return others.length === 0 ? true : undefined
      })
      const [row] = await execute(
        store,
        `select (select seq_tup_read from pg_stat_user_tables where schemaname = 'topicd' and relname = 'topics') +
         sum(idx_tup_read) as sum from pg_stat_user_indexes where schemaname = 'topicd' and relname = 'topics'`,
      )
      return Number(row?.sum)
    }

    for (const type of ['json', 'any'] as const) {
      for (const values of [false, true]) {
        for (const [size, limit] of [
          [1000, 1],
          [100, 1],
          [1000, 3],
        ] as const) {
          const before = await entries()
          const opened = await openPostgresStore(store)
          const plan = planSelector('?a//')
          if ('problem' in plan) throw new Error(plan.problem)
          const query = { plan, branches: { depth: 2, limit }, size, bytesMax: 2 ** 30 } as const
          const form = { type, values, properties: false, versions: false }
          let results = 0
          for (let after: Path | undefined; ; ) {
            const page = await opened.readPage({ ...query, form, after }, { aborted: false })
            const text = page.buffer.subarray(page.start, page.end).toString()
            const items = JSON.parse(`[${text}]`) as { path: Path }[]
            results += items.length
            after = items.at(-1)?.path
            if (!page.hasMore) break
          }
          await opened.close()
          const each = ((await entries()) - before) / results
          t.equal(results, limit * children, `${type}, ${limit} of each, pages of ${size}`)
          t.ok(each > 0 && each <= entriesMax, `${each.toFixed(2)} entries per result`)
        }
      }
    }
  },
)
