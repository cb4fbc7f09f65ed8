/**
 * What is stored, for those who watch: estimates that the engine keeps by itself, since counting reads a whole index. While
 * the engine is away, what was known last.
 */
import { StoreError, type StoreStats } from '../store.js'
import type { Connections } from './connections.js'
import type { Statement } from './statement.js'

/** Between two readings, in ms: the engine gathers these figures about once a second. */
const figuresMs = 5000

/**
 * Rows as the engine has counted them while they changed; after a crash it has forgotten that, and the last estimate of
 * `analyze` stands in.
 */
const estimate: Statement<{ topics: string; bytes: string }> = {
  name: 'estimate_figures',
  text: `
    select coalesce(nullif(pg_stat_get_live_tuples(c.oid), 0), greatest(c.reltuples, 0)::bigint) as topics,
      pg_total_relation_size(c.oid) as bytes
    from pg_class c where c.oid = 'topicd.topics'::regclass`,
}

/** For engines that estimate in other ways. */
const countTopics: Statement<{ topics: string }> = {
  name: 'count_topics',
  text: 'select count(*) as topics from topicd.topics',
}

export function createStats({ read }: Connections): () => Promise<StoreStats> {
  let last: StoreStats | undefined
  let lastMs = -Infinity
  let reading: Promise<StoreStats> | undefined

  async function readFigures(): Promise<StoreStats> {
    try {
      const [{ topics, bytes }] = await read(estimate, [])
      return { topics: Number(topics), bytes: Number(bytes) }
    } catch (error) {
      if (error instanceof StoreError) throw error
      const [{ topics }] = await read(countTopics, [])
      return { topics: Number(topics), bytes: 0 }
    }
  }

  return async () => {
    if (last !== undefined && performance.now() - lastMs < figuresMs) return last
    reading ??= readFigures().finally(() => (reading = undefined))
    try {
      last = await reading
      lastMs = performance.now()
      return last
    } catch (error) {
      if (last === undefined) throw error
      return last
    }
  }
}
