/**
 * The LMDB engine: puts the parts of this folder together into a `TopicStore`. See environment.ts before calling `open`
 * while any other process may be writing.
 */
import { statSync } from 'node:fs'
import { type Clock, now } from '../clock.js'
import type { TopicStore } from '../store.js'
import { backup } from './backup.js'
import { check } from './check.js'
import { createCommits } from './commits.js'
import { clearDeadReaders } from './dead-readers.js'
import { bytesUsed, openEnvironment } from './environment.js'
import { createExpiry } from './expiry.js'
import { dataFile } from './files.js'
import { createSnapshots } from './fresh-snapshots.js'
import { createKeyRecords } from './key-records.js'
import { createPageBuffer } from './page-buffer.js'
import { createReads } from './reads.js'
import { entryCount } from './snapshot.js'
import { walk } from './walk.js'
import { createWrites } from './writes.js'

export interface LmdbOptions {
  /** The data directory. */
  readonly directory: string
  /** How many sockets this process polls; see fresh-snapshots.ts. */
  readonly socketCount?: () => number
  /** Called once when commits can no longer be trusted; the process is expected to end. */
  readonly onBroken?: (reason: Error) => void
  /** The machine's unless told; for tests of what takes long or needs a clock that steps. */
  readonly clock?: Clock
}

/** In `meta`: when the last backup was done. */
const backupName = 'backup'

function timeRecord(ms: number): Buffer {
  const record = Buffer.allocUnsafe(8)
  record.writeDoubleBE(ms)
  return record
}

/** Opens the store in a data directory, creating it on first use. Nobody else may be writing to it meanwhile. */
export function openLmdbStore(options: LmdbOptions): TopicStore {
  const { directory, socketCount = () => 0, onBroken = () => {}, clock = now } = options
  const pageBuffer = createPageBuffer()
  const environment = openEnvironment(directory, pageBuffer)
  const { root, specifications, meta, freshen } = environment
  let copying = false
  const stopClearing = clearDeadReaders(root)
  const commits = createCommits(onBroken)
  const snapshots = createSnapshots(freshen, socketCount)
  const writes = createWrites(environment, snapshots, commits, clock)
  const removals = createExpiry(environment, snapshots, commits, writes, clock)
  return {
    ...createReads(environment, snapshots, pageBuffer),
    ...writes,
    ...createKeyRecords(environment, snapshots, commits),
    removeDue: removals.removeDue,
    walk: (plan, cancellation) => walk(environment, plan, cancellation),
    check: (report, onProgress) => check(environment, report, onProgress),
    stats: () => ({
      topics: snapshots.alone(() => entryCount(specifications)),
      bytes: statSync(dataFile(directory)).size,
      backupMs: snapshots.alone(() => meta.get(backupName)?.readDoubleBE()),
    }),
    commits: commits.figures,
    pauseWrites: commits.pauseWrites,
    resumeWrites: commits.resumeWrites,
    async backup(file, freeBytesMin, onProgress) {
      const copy = async (to: string): Promise<void> => {
        copying = true
        await root.backup(to, true).finally(() => (copying = false))
      }
      const done = await backup(
        copy,
        snapshots.alone(() => bytesUsed(environment)),
        freeBytesMin,
        file,
        onProgress,
      )
      try {
        await commits.run(true, () => meta.put(backupName, timeRecord(clock().wallMs)))
        return done
      } catch (error) {
        return { ...done, unnoted: (error as Error).message }
      }
    },
    async close() {
      if (copying) throw new Error('the store cannot be closed while lmdb copies it')
      stopClearing()
      // First, so that a clause that was just carried out can still end its policy.
      await removals.close()
      await commits.close()
      await root.close()
    },
  }
}
