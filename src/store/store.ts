/**
 * The complete interface of an open store. Each user takes only the interfaces that it needs, which are in the other files of this
 * folder. Each engine has its own folder. Nothing here depends on a particular engine.
 *
 * Every engine guarantees:
 * - a write's promise resolves once the write is durable, and every later read in any process sees the write;
 * - no read returns data that a power cut could undo;
 * - each write decides and writes in one step, so two writers never both create, or resurrect, a topic;
 * - a failed write is rejected with a `StoreError`, whose kind states its known effect; any other rejection is a defect.
 */
import type { ApiKeyStore } from './api-keys.js'
import type { ChangeReader } from './changes.js'
import type { DueRemover } from './due-removals.js'
import type { StoreChecker, StoreCopier } from './maintenance.js'
import type { StoreMonitor } from './monitoring.js'
import type { TopicReader, TopicRemover, TopicWalker, TopicWriter } from './topics.js'

export interface Availability {
  /** The reason why the store is unavailable now, for users; undefined while it is available. Absent if it is always available. */
  notReady?(): string | undefined
}

/** An open store, which its opener closes. open.ts opens it. */
export interface TopicStore
  extends TopicReader,
    TopicWriter,
    TopicRemover,
    TopicWalker,
    ChangeReader,
    DueRemover,
    ApiKeyStore,
    StoreChecker,
    StoreCopier,
    StoreMonitor,
    Availability {
  /** Waits for writes in flight, then releases everything. @throws Error while a backup copies the store, because that cannot be stopped */
  close(): Promise<void>
}
