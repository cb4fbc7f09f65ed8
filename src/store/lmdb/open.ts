/**
 * Opens the LMDB engine: assembles the parts of this folder into a `TopicStore`. No other process may be writing while
 * it opens; environment.ts says why.
 */
import { statSync } from 'node:fs'
import { aloneOf } from '../batch.js'
import { type Clock, now } from '../clock.js'
import { type BatchResult, StoreError, type TopicStore, type WriteOperation } from '../store.js'
import { backup } from './backup.js'
import { Batches } from './batches.js'
import { BulkRemoval } from './bulk-removal.js'
import { check } from './check.js'
import { Commits } from './commits.js'
import { clearDeadReaders } from './dead-readers.js'
import { DiskRoom, type DiskRoomOptions } from './disk-room.js'
import { bytesUsed, type Environment, openEnvironment, treePages } from './environment.js'
import { Expiry } from './expiry.js'
import { dataFile } from './files.js'
import { createSnapshots, type Snapshots } from './fresh-snapshots.js'
import { createKeyRecords } from './key-records.js'
import { Listings } from './listings.js'
import { numberRecord } from './number-record.js'
import { PageScan } from './page-scan.js'
import { PlainTopics } from './plain-topics.js'
import { Reads } from './reads.js'
import { Scans } from './scans.js'
import { Slabs } from './slab.js'
import { entryCount } from './snapshot.js'
import type { Versions } from './versions.js'
import { walk } from './walk.js'
import { Writes } from './writes.js'

export interface LmdbOptions {
  /** The data directory. */
  readonly directory: string
  /** Whether the store is read in the tree's order, as tools do; see read-ahead.ts. */
  readonly readsInOrder?: boolean
  /** The number of sockets that this process polls; 0 by default. See fresh-snapshots.ts. */
  readonly socketCount?: () => number
  /** Called once when commits can no longer be trusted; the process is expected to end. */
  readonly onBroken?: (reason: Error) => void
  /** Without it, writes do not look at the disk's free space. */
  readonly disk?: DiskRoomOptions
  /** The machine's by default. Tests give another, which can step or skip time. */
  readonly clock?: Clock
  /** Tests give a small one; see versions.ts. */
  readonly versionsInBlock?: number
}

/** How soon version numbers are reserved again when the disk had no room for that; the block at hand lasts for long. */
const reserveAgainMs = 1000

/** In `meta`: when the last backup was completed, in ms since the epoch. */
const backupName = 'backup'

/**
 * Opens the store in a data directory, creating it on first use. No other process may be writing to it meanwhile.
 *
 * @throws StoreUnusable as `openEnvironment` does
 */
export function openLmdbStore(options: LmdbOptions): TopicStore {
  const { directory, readsInOrder, socketCount = () => 0, onBroken = () => {}, clock = now, versionsInBlock } = options
  const environment = openEnvironment(directory, { readsInOrder, versionsInBlock })
  const pageScan = new PageScan(environment)
  const { root, specifications, meta, freshen } = environment
  const stopClearing = clearDeadReaders(root)
  const snapshots = createSnapshots(freshen, socketCount)
  const room =
    options.disk && new DiskRoom(directory, options.disk, () => snapshots.alone(() => treePages(environment)))
  const commits = new Commits(onBroken, room)
  keepVersionsReserved(environment.versions, commits)
  const scans = new Scans(snapshots)
  const { readTopic, readPage } = new Reads(environment, snapshots, pageScan, scans)
  const { readTopicAs, readListing } = new Listings(environment, snapshots, scans)
  const changes = createChanges(environment, snapshots, commits, clock)
  const expiry = new Expiry(environment, snapshots, commits, changes.removeMatches, clock)
  let copying = false
  const copy = async (to: string): Promise<void> => {
    copying = true
    await root.backup(to, true).finally(() => (copying = false))
  }
  return {
    readTopic,
    readPage,
    readTopicAs,
    readListing,
    ...changes,
    ...createKeyRecords(environment, snapshots, commits),
    removeDue: () => expiry.removeDue(),
    walk: (plan, cancellation) => walk(environment, plan, cancellation),
    check: (report, onProgress) => check(environment, report, onProgress, report),
    stats: () => ({
      topics: snapshots.alone(() => entryCount(specifications)),
      bytes: statSync(dataFile(directory)).size,
      backupMs: snapshots.alone(() => meta.get(backupName)?.readDoubleBE()),
    }),
    disk: room,
    commits: commits.stats,
    commitWaitMs: commits.waitMs,
    pauseWrites: () => commits.pauseWrites(),
    resumeWrites: () => commits.resumeWrites(),
    async backup(file, freeBytesMin, onProgress) {
      const bytes = snapshots.alone(() => bytesUsed(environment))
      const done = await backup(copy, bytes, freeBytesMin, file, onProgress)
      try {
        await commits.run(true, () => meta.put(backupName, numberRecord(clock().wallMs)))
        return done
      } catch (error) {
        return { ...done, unnoted: (error as Error).message }
      }
    },
    async close() {
      if (copying) throw new Error('the store cannot be closed while lmdb copies it')
      stopClearing()
      // Before the commits, so that a clause that was just executed can still end its policy.
      await expiry.close()
      await commits.close()
      await root.close()
    },
  }
}

/** Everything that changes topics, and what would be changed. */
function createChanges(
  environment: Environment,
  snapshots: Snapshots,
  commits: Commits,
  clock: Clock,
): Pick<TopicStore, 'write' | 'removeMatches' | 'countMatches'> {
  const slabs = new Slabs()
  const plainTopics = new PlainTopics()
  const writes = new Writes(environment, snapshots, commits, clock, slabs, plainTopics)
  const batches = new Batches(environment, commits, clock, slabs, plainTopics)
  const { removeMatches, countMatches } = new BulkRemoval(environment, snapshots, writes)
  const write = (operations: readonly WriteOperation[]): Promise<BatchResult> => {
    const alone = aloneOf(operations)
    return alone === undefined ? batches.write(operations) : writes.write(alone)
  }
  return { write, removeMatches, countMatches }
}

/** Has each block of version numbers followed by another. */
function keepVersionsReserved(versions: Versions, commits: Commits): void {
  const reserve = (): void =>
    void commits
      .run(true, () => versions.takeReserve())
      .catch((error: unknown) => {
        if (error instanceof StoreError && error.kind === 'full') setTimeout(reserve, reserveAgainMs).unref()
        else ignoreStoreError(error)
      })
  // It may be called within a condition block: never in the turn in which the gate passes that block's write, since
  // that write is in flight.
  versions.whenLow(reserve)
}

/** A store that is closing or broken needs no further version numbers. */
function ignoreStoreError(error: unknown): void {
  if (!(error instanceof StoreError)) throw error
}
