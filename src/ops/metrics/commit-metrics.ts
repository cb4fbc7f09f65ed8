/** The rows shared by the writer's and the workers' tables. With LMDB only the writer commits and removes, so workers omit most rows. */
import type { StoreMonitor } from '../../store/monitoring.js'
import { counter, gauge, histogram, type Table } from './metric.js'

export interface CommitSources {
  readonly store: Pick<StoreMonitor, 'commits'>
  readonly sweeper: { readonly removed: number; readonly unreadable: number } | undefined
  readonly keyring?: { readonly unreadable: number }
}

export const commitTable: Table<CommitSources> = {
  topicd_topics_expired_total: counter('Topics removed by a REMOVAL policy.', ({ sweeper }) => sweeper?.removed),
  topicd_unreadable_total: counter('Unreadable stored records that were skipped, by kind.', ({ sweeper, keyring }) => [
    [{ kind: 'removal' }, sweeper?.unreadable ?? 0],
    [{ kind: 'api_key' }, keyring?.unreadable ?? 0],
  ]),
  topicd_writes_total: counter('Writes passed to the store.', ({ store }) => store.commits?.writes),
  topicd_writes_failed_total: counter('Writes whose commit failed.', ({ store }) => store.commits?.failed),
  // With LMDB a worker has no such writes, even while no writer runs.
  topicd_writes_in_flight: gauge('Writes waiting for their commit.', ({ store }) => store.commits?.inFlight ?? 0),
  topicd_commit_duration_seconds: histogram(
    'Duration of commits, from the first write until all are on disk.',
    ({ store }) => store.commits?.seconds.read(),
  ),
  topicd_commit_writes: histogram('Writes per commit.', ({ store }) => store.commits?.batches.read()),
}
