/**
 * Opens the LMDB engine: assembles the parts of this folder into a `TopicStore`, in one of three arrangements:
 *
 * - alone: this process reads and writes, and no other has the store open (a tool without a service, a test)
 * - the writer: the same, and it also executes requests from other processes
 * - next to a writer: this process only reads, and passes its writes to the writer
 *
 * No process may be writing while another opens the store; see environment/environment.ts for the reason.
 */
import { statSync } from 'node:fs'
import type { Socket } from 'node:net'
import { whenKnown } from '../../base/awaitable.js'
import { type Clock, now } from '../../base/clock.js'
import { Expiry, type Lead } from '../core/removal/expiry.js'
import { createCore } from '../core/store.js'
import { backupName } from '../core/write/records.js'
import { nothingRemoved } from '../due-removals.js'
import type { Engine } from '../engine.js'
import { numberOf, numberRecord } from '../number-record.js'
import type { TopicStore } from '../store.js'
import { WriterLink } from '../writer/link.js'
import { Receipts } from '../writer/receipts.js'
import { WriterServer } from '../writer/server.js'
import type { Writing } from '../writing.js'
import { DiskRoom } from './commit/disk-room.js'
import { createWriting, type LocalWriting } from './commit/writing.js'
import {
  bytesUsed,
  type Environment,
  openEnvironment,
  statsOf,
  type TreePages,
  treePages,
} from './environment/environment.js'
import { dataFile } from './environment/files.js'
import { backup as backUp } from './file/backup.js'
import { createEngine } from './view/engine.js'
import { createItemRanges } from './view/item-ranges.js'
import { createSnapshots, type Snapshots } from './view/read-freshness.js'
import { LmdbView } from './view/view.js'

interface LmdbReadOptions {
  readonly directory: string
  /** Reads the store in the tree's order, as tools do; see environment/read-ahead.ts. */
  readonly readsInOrder?: boolean
  /** The number of sockets that this process polls; 0 by default. See view/read-freshness.ts. */
  readonly socketCount?: () => number
  /** Called if the writer's build cannot serve this process, which is expected to exit. */
  readonly onUnusable?: (reason: Error) => void
  /** Called with the defect if a record of the log, or a message from another process, cannot be read; everything continues. */
  readonly onUnreadable?: (reason: Error) => void
  /** The machine's clock by default. Tests pass one that can step or skip time. */
  readonly clock?: Clock
}

export interface LmdbOptions extends LmdbReadOptions {
  /** Called once when commits can no longer be trusted; the process is expected to exit. */
  readonly onBroken?: (reason: Error) => void
  /** If less space is free, writes that may add bytes are rejected. If undefined, writes ignore the disk's free space. */
  readonly diskFreeBytesMin?: number
  readonly changesKept?: number
}

export interface LmdbWriter {
  readonly store: TopicStore
  accept(socket: Socket): void
  /** Number of frames received from other processes so far. */
  frames(): number
  /** Ensures that no write is in flight until `resumeWrites`. */
  pauseWrites(): void
  resumeWrites(): void
  /** Accepts no more requests, answers the accepted ones, and releases everything. */
  close(): Promise<void>
}

/**
 * Interval between checks for dead readers, in ms. LMDB reuses no page that a reader may still see. If a reader's process is
 * killed, its entry stays in the reader table. The file would then grow with every write until some process opens the store. A
 * check takes a few microseconds, plus one system call for each other process.
 *
 * LMDB detects dead readers by their lock on the lock file. Nothing in this program may ever open that file: closing it would
 * release the lock of this process, which is alive.
 */
const readerCheckMs = 1000

/** In `meta`: the last time a writer opened the store, as Unix time in ms. */
const openedName = 'opened'

/** Creates the store on first use; no other process may have it open. @throws StoreUnusable as `openEnvironment` */
export function openLmdbStore(options: LmdbOptions): TopicStore {
  return openHere(options, openEnvironment(options.directory, options)).store
}

/** Like `openLmdbStore`, but also writes for other processes. @throws also Error if the first commit fails */
export function openLmdbWriter(options: LmdbOptions): LmdbWriter {
  const environment = openEnvironment(options.directory, options)
  // If the last writer died during a commit, this commit also puts that one on disk, so the receipts in it can be relied on.
  environment.transact(() => environment.meta.putSync(openedName, numberRecord(Date.now())))
  const { store, writing, expiry, receipts } = openHere(options, environment)
  const { commits, committed } = writing
  const server = new WriterServer(commits, receipts, options.onUnreadable)
  committed.add(server.answerAll)
  return {
    store,
    accept: (socket) => server.accept(socket),
    frames: () => server.frames,
    pauseWrites: () => commits.pauseWrites(),
    resumeWrites: () => commits.resumeWrites(),
    async close() {
      // Close this before the commits, so that a clause that was just executed can still end its policy.
      await expiry.close()
      await server.stop()
      await store.close()
    },
  }
}

/** Requires a store that a writer has created; `connect` reaches the writer. @throws StoreUnusable as `openEnvironment` */
export function openLmdbReader(options: LmdbReadOptions, connect: () => Socket): TopicStore {
  const environment = openEnvironment(options.directory, { ...options, readOnly: true })
  const { view, snapshots } = readingOf(environment, options)
  const link = new WriterLink(connect, options.onUnusable ?? (() => {}), options.onUnreadable)
  const engine = createEngine(environment, view, snapshots, link.follow)
  // The writer removes due topics.
  return { ...assemble(environment, snapshots, engine, link, options), removeDue: async () => nothingRemoved }
}

/** The store in a process that writes directly, with the parts that only such a process has. */
interface OpenedHere {
  readonly store: TopicStore
  readonly writing: LocalWriting
  readonly expiry: Expiry
  readonly receipts: Receipts
}

function openHere(options: LmdbOptions, environment: Environment): OpenedHere {
  const { directory, onBroken = () => {}, onUnreadable, clock = now, diskFreeBytesMin, changesKept } = options
  const { view, snapshots } = readingOf(environment, options)
  const readTrees = (): TreePages => snapshots.alone(() => treePages(environment))
  const room = diskFreeBytesMin === undefined ? undefined : new DiskRoom(directory, diskFreeBytesMin, readTrees)
  const receipts = new Receipts(view.records('receipts'), onUnreadable)
  const writing = createWriting(environment, view, { clock, onBroken, room, receipts, changesKept })
  const { commits, commit } = writing
  const engine = createEngine(environment, view, snapshots, writing.follow)
  const store = assemble(environment, snapshots, engine, writing, options)
  const { removeMatches } = store
  const lead: Lead = (work) => work({ lost: { aborted: false }, commit, removeMatches })
  const expiry = new Expiry(engine, lead, { now: clock, comparesClocks: true })
  const opened: TopicStore = {
    ...store,
    removeDue: (planOf) => expiry.removeDue(planOf),
    disk: room,
    commits: commits.stats,
    async close() {
      // Close this before the commits, so that a clause that was just executed can still end its policy.
      await expiry.close()
      await store.close()
    },
  }
  return { store: opened, writing, expiry, receipts }
}

/** Call in the turn in which the environment was opened. */
function readingOf(
  environment: Environment,
  { socketCount = () => 0 }: LmdbReadOptions,
): { readonly view: LmdbView; readonly snapshots: Snapshots } {
  const view = new LmdbView(environment, createItemRanges(environment))
  return { view, snapshots: createSnapshots(environment.freshen, socketCount) }
}

function assemble(
  environment: Environment,
  snapshots: Snapshots,
  engine: Engine,
  writing: Writing,
  { directory, clock = now, onUnreadable }: LmdbReadOptions,
): Omit<TopicStore, 'removeDue'> {
  const { root, specifications, meta } = environment
  const core = createCore(engine, writing, onUnreadable)
  const clearing = setInterval(() => root.readerCheck(), readerCheckMs).unref()
  let copying = false
  const copy = async (to: string): Promise<void> => {
    copying = true
    await root.backup(to, true).finally(() => (copying = false))
  }
  return {
    ...core,
    stats: () =>
      whenKnown(core.readRange(), (log) => ({
        topics: snapshots.alone(() => statsOf(specifications).entryCount),
        bytes: statSync(dataFile(directory)).size,
        backupMs: snapshots.alone(() => numberOf(meta.get(backupName))),
        log,
      })),
    async backup(file, freeBytesMin, onProgress, cancellation) {
      const bytes = snapshots.alone(() => bytesUsed(environment))
      const done = await backUp(copy, bytes, freeBytesMin, file, onProgress, cancellation)
      try {
        await writing.change({ about: 'noteBackup', madeMs: clock().wallMs })
        return done
      } catch (error) {
        return { ...done, unnoted: (error as Error).message }
      }
    },
    async close() {
      if (copying) throw new Error('the store cannot be closed while lmdb copies it')
      clearInterval(clearing)
      await writing.close()
      await root.close()
    },
  }
}
