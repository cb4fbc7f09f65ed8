/**
 * All that an engine does, for the one who opens it: each user takes only the interfaces that it needs, which are in
 * files of their own beside this one. Each engine has its own folder. Nothing here depends on a particular engine.
 *
 * What every engine guarantees:
 * - a write's promise resolves once the write is durable, and every read that begins after that, in any process, sees
 *   it;
 * - no read returns what a power cut could undo;
 * - each write decides and writes in one step, so that two writers never both create, or resurrect, a topic;
 * - a failed write is rejected with a `StoreError`, whose kind says what is known about its effect; any other rejection
 *   is a defect.
 */
import type { ApiKeyStore } from './api-keys.js'
import type { ChangeReader } from './changes.js'
import type { DueRemover } from './due-removals.js'
import type { StoreChecker, StoreCopier } from './maintenance.js'
import type { StoreMonitor } from './monitoring.js'
import type { TopicReader, TopicRemover, TopicWalker, TopicWriter } from './topics.js'

export interface Availability {
  /** Why the store is unavailable now, for a person; undefined while it is available. Absent if it always is. */
  notReady?(): string | undefined
}

/** An open store, which its opener closes. How it is opened is in open.ts. */
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
  /** Waits for writes in flight, releases everything. @throws Error during a backup's copy, which cannot be stopped */
  close(): Promise<void>
}
