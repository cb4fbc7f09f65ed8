/**
 * Opens the LMDB engine: assembles the parts of this folder into a `TopicStore`. No other process may be writing while
 * it opens; environment.ts says why.
 */
import { statSync } from 'node:fs'
import { type Clock, now } from '../clock.js'
import type { TopicStore } from '../store.js'
import { backup } from './backup.js'
import { BulkRemoval } from './bulk-removal.js'
import { check } from './check.js'
import { clearDeadReaders } from './dead-readers.js'
import { DiskRoom, type DiskRoomOptions } from './disk-room.js'
import { bytesUsed, openEnvironment, treePages } from './environment.js'
import { Expiry } from './expiry.js'
import { dataFile } from './files.js'
import { createSnapshots } from './fresh-snapshots.js'
import { createKeyRecords } from './key-records.js'
import { Listings } from './listings.js'
import { numberRecord } from './number-record.js'
import { PageScan } from './page-scan.js'
import { Reads } from './reads.js'
import { Scans } from './scans.js'
import { entryCount } from './snapshot.js'
import { walk } from './walk.js'
import { createWrites } from './writes.js'

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
}

/** In `meta`: when the last backup was completed, in ms since the epoch. */
const backupName = 'backup'

/**
 * Opens the store in a data directory, creating it on first use. No other process may be writing to it meanwhile.
 *
 * @throws StoreUnusable as `openEnvironment` does
 */
export function openLmdbStore(options: LmdbOptions): TopicStore {
  const { directory, readsInOrder, socketCount = () => 0, onBroken = () => {}, clock = now } = options
  const environment = openEnvironment(directory, { readsInOrder })
  const pageScan = new PageScan(environment)
  const { root, specifications, meta, freshen } = environment
  const stopClearing = clearDeadReaders(root)
  const snapshots = createSnapshots(freshen, socketCount)
  const room =
    options.disk && new DiskRoom(directory, options.disk, () => snapshots.alone(() => treePages(environment)))
  const { commits, write } = createWrites(environment, clock, onBroken, room)
  const scans = new Scans(snapshots)
  const { readTopic, readPage } = new Reads(environment, snapshots, pageScan, scans)
  const { readTopicAs, readListing } = new Listings(environment, snapshots, scans)
  const { removeMatches, countMatches } = new BulkRemoval(environment, snapshots, commits)
  const expiry = new Expiry(environment, snapshots, commits, removeMatches, clock)
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
    write,
    removeMatches,
    countMatches,
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
        const madeMs = numberRecord(clock().wallMs)
        await commits.run((changes) => changes.write(() => meta.putSync(backupName, madeMs)))
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
