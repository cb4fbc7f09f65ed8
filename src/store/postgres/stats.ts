/**
 * What is stored, for metrics: the engine's own estimates, since counting reads a whole index. While the engine is
 * away, the last result is returned.
 */
import { lanesCount } from '../../settings/limits.js'
import { updatedMs } from '../../topics/version.js'
import { StoreError } from '../errors.js'
import type { StoreStats } from '../monitoring.js'
import type { Execute, Statement } from './sql/statement.js'

/** How long a result is reused, in ms: the engine updates these estimates about once a second. */
const reuseMs = 5000

/**
 * The live rows that the engine counts as they change; after a crash that count is lost, and the last `analyze` is
 * used.
 */
const estimate: Statement<{ topics: string; bytes: string }> = {
  name: 'estimate_stats',
  text: `
    select coalesce(nullif(pg_stat_get_live_tuples(c.oid), 0), greatest(c.reltuples, 0)::bigint) as topics,
      pg_total_relation_size(c.oid) as bytes
    from pg_class c where c.oid = 'topicd.topics'::regclass`,
}

/** For engines that estimate in another way. */
const countTopics: Statement<{ topics: string }> = {
  name: 'count_topics',
  text: 'select count(*) as topics from topicd.topics',
}

/** The log from the first version that each lane still has. */
const measureLog: Statement<{ changes: string; since: string }> = {
  name: 'measure_log',
  text: `
    select sum(last.total - first.total + first.count) as changes, max(first.version) as since
    from generate_series(0, ${lanesCount - 1}) as l (lane)
    cross join lateral (
      select count, total, version from topicd.changes c where c.lane = l.lane order by c.lane, c.n limit 1
    ) first
    cross join lateral (
      select total from topicd.changes c where c.lane = l.lane order by c.lane desc, c.n desc limit 1
    ) last`,
}

/** The reader of the statistics; it rejects only while the engine is away and has never answered. */
export function createStats(read: Execute): () => Promise<StoreStats> {
  let last: StoreStats | undefined
  let lastMs = -Infinity
  let reading: Promise<StoreStats> | undefined

  async function readTopics(): Promise<StoreStats> {
    try {
      const [row] = await read(estimate, [])
      if (row !== undefined) return { topics: Number(row.topics), bytes: Number(row.bytes) }
    } catch (error) {
      if (error instanceof StoreError) throw error
    }
    const [row] = await read(countTopics, [])
    return { topics: Number(row?.topics ?? 0), bytes: 0 }
  }

  async function readStats(): Promise<StoreStats> {
    const [log] = await read(measureLog, [])
    const range = log && { changes: Number(log.changes), sinceMs: updatedMs(Number(log.since)) }
    return { ...(await readTopics()), log: range }
  }

  return async () => {
    if (last !== undefined && performance.now() - lastMs < reuseMs) return last
    reading ??= readStats().finally(() => (reading = undefined))
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
