/** Metrics from the engine's own estimates, because counting reads a whole index. While the engine is down: the last result. */
import type { Awaitable } from '../../base/awaitable.js'
import type { LogRange } from '../changes.js'
import type { StoreStats } from '../monitoring.js'
import type { Execute, Statement } from './sql/statement.js'

/** The engine counts live rows as they change. A crash loses that count; the result of the last `analyze` is then used. */
const estimate: Statement<{ topics: string; bytes: string }> = {
  name: 'estimate_stats',
  text: `
    select coalesce(nullif(pg_stat_get_live_tuples(c.oid), 0), greatest(c.reltuples, 0)::bigint) as topics,
      pg_total_relation_size(c.oid) as bytes
    from pg_class c where c.oid = 'topicd.topics'::regclass`,
}

/** Rejects only while the engine is unavailable and has never answered. */
export function createStats(read: Execute, readLog: () => Awaitable<LogRange>): () => Promise<StoreStats> {
  let known: StoreStats | undefined
  return async () => {
    try {
      const [row] = await read(estimate, [])
      known = { topics: Number(row?.topics), bytes: Number(row?.bytes), log: await readLog() }
    } catch (error) {
      if (known === undefined) throw error
    }
    return known
  }
}
