/**
 * The boundary to lmdb: opens environments and their databases, and lists the library's caveats. Nothing outside store/lmdb imports
 * lmdb, and no other file opens an environment.
 *
 * Caveats, each covered by a test:
 * - OPENING the environment while another process writes can overwrite that process's last acknowledged commits: every lmdb-js up
 *   to 3.5.6 sets the shared transaction number from a meta page that it read shortly before. So no process may write while another
 *   opens: see cluster/primary/store-opening.ts (pause, open, resume) and cluster/directory-lock.ts (the lock).
 * - `overlappingSync`, the library's default, shows a commit to other processes before it is on disk. It is off here.
 * - A failed condition block does not protect everything in it, and `transactionSync` commits an asynchronous transaction that is
 *   still being filled. So every change to an open store happens in the callback of a synchronous transaction
 *   (commit/commits.ts), where `put` and `remove` take effect immediately, and nowhere else.
 * - lmdb does not report a transaction that failed to start: see `transact`.
 * - The same files are never opened twice in one process, nor on a network file system.
 * - On some disks the system reads far ahead, which ruins a service whose file does not fit in memory (read-ahead.ts).
 */
import { randomInt } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Database, type GetOptions, open, type RootDatabase, type RootDatabaseOptionsWithPath } from 'lmdb'
import { now } from '../../../base/clock.js'
import { keyBytesMax } from '../../../settings/limits.js'
import { decodeKey, writeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import type { TopicType } from '../../../topics/topic.js'
import { nextVersion } from '../../../topics/version.js'
import { StoreUnusable } from '../../errors.js'
import { numberRecord } from '../../number-record.js'
import { changeRecordKey, type LogTable } from './change-record.js'
import { beginCreation, dataFile, endCreation, isUnfinished } from './files.js'
import { examine } from './preflight.js'
import { circumstancesOf, isReadAheadHarmful } from './read-ahead.js'

/** Reserved address space, so that no process ever remaps: far more than any disk, far less than a process's 47-bit address space. */
const mapBytes = 2 ** 42

export type StoredKey = Path | Buffer

/** A database whose keys are paths, in tree order, and whose records have versions. */
export interface Tree extends Database<Buffer, StoredKey> {
  /** lmdb's types omit the options. */
  getBinaryFast(id: StoredKey, options?: GetOptions): Buffer | undefined
}

type Table = Database<Buffer, string>

/**
 * The databases of the environment. A topic is always in both `specifications` and the tree of its type:
 *
 *     specifications   path → type, properties, times (view/specification.ts)
 *     items.json       path → fetch result item                            version: of the topic (topics/version.ts)
 *     items.string     the same for topics of type string
 *     updates          path → time of the last update, where tracked
 *     due              time and number → path of the due topic              (store/core/removal/expiry.ts)   time: 0 while its clause waits
 *     changes          commits, in their order → keys of the topics that each changed (change-record.ts)
 *     keys, keyUses    API key name → record; → time of last use           (store/core/keys.ts)
 *     receipts         client of the writer → outcomes that it might not have yet (store/writer/receipts.ts)
 *     meta             counters, the clock, the id of the store, and the version of this format
 */
export interface Environment {
  readonly root: RootDatabase
  readonly specifications: Tree
  readonly items: Readonly<Record<TopicType, Tree>>
  readonly updates: Tree
  readonly due: Database<Buffer, Buffer>
  readonly changes: LogTable
  readonly keys: Table
  readonly keyUses: Table
  readonly receipts: Table
  readonly meta: Table
  /** A random number, which a restore changes; 0 in a copy that is not opened as a store. */
  readonly storeId: number
  /** Returns a number that no call in any process has returned before, for an entry in `due`. Call it in a transaction's callback. */
  nextDueNumber(): number
  /** Ends the snapshot that reads have shared so far, so that the next read sees every earlier commit. */
  freshen(): void
  /**
   * Calls `callback` in a transaction, where reads see its earlier writes; returns once the transaction is on disk.
   *
   * @throws Error if it is not on disk, or might not be; the error of `callback`, with nothing changed
   */
  transact(callback: () => void): void
}

interface TreeStats {
  readonly entryCount: number
  readonly pageSize: number
  readonly treeDepth: number
  readonly treeBranchPageCount: number
  readonly treeLeafPageCount: number
  readonly overflowPages: number
}

/** The statistics of a database in the current snapshot. */
export function statsOf(database: { getStats(): unknown }): TreeStats {
  return database.getStats() as TreeStats
}

/** The total size of the pages in use, in bytes: about the size of a compacted copy. */
export function bytesUsed(environment: Environment): number {
  const { items, root, specifications, updates, due, changes, keys, keyUses, receipts, meta } = environment
  const topics = [specifications, items.json, items.string, updates, due]
  return [root, ...topics, changes, keys, keyUses, receipts, meta].reduce((bytes, database) => {
    const { pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages } = statsOf(database)
    return bytes + pageSize * (treeBranchPageCount + treeLeafPageCount + overflowPages)
  }, 0)
}

export interface TreePages {
  /** The maximum levels that one operation changes, in all trees together; an empty tree counts as one. */
  readonly levels: number
  readonly pages: number
}

/** Counts both item trees as one: a topic has one item, in one of them. */
export function treePages({ specifications, items, updates, due }: Environment): TreePages {
  const [json, string, ...others] = [items.json, items.string, specifications, updates, due].map((tree) => {
    const { treeDepth, treeBranchPageCount, treeLeafPageCount } = statsOf(tree)
    return { levels: Math.max(1, treeDepth), pages: treeBranchPageCount + treeLeafPageCount }
  }) as [TreePages, TreePages, ...TreePages[]]
  const item = { levels: Math.max(json.levels, string.levels), pages: json.pages + string.pages }
  return [item, ...others].reduce((all, tree) => ({ levels: all.levels + tree.levels, pages: all.pages + tree.pages }))
}

/** Builds before 1.0.0 had other formats. */
const formatVersion = 3

const formatName = 'format'

/** The version of all records other than items, where it has no meaning. */
export const recordVersion = 1

interface EnvironmentOptions {
  /** This process only reads; another process has created the databases and does the writing. */
  readonly readOnly?: boolean
  /** Reads in the tree's order, as tools do, not randomly, as requests do. Fixed when the environment is opened. */
  readonly readsInOrder?: boolean
  /** Only for the control of the power-cut test: acknowledges commits that are not on disk. */
  readonly noSync?: boolean
}

/**
 * Opens (and on first use creates) the environment in `directory`. No other process may write to it in the meantime.
 *
 * @throws StoreUnusable, with the files unchanged, if they are damaged, inaccessible, or in an unsupported format
 */
export function openEnvironment(
  directory: string,
  { readOnly = false, readsInOrder = false, noSync = false }: EnvironmentOptions = {},
): Environment {
  const file = dataFile(directory)
  const path = dirname(file)
  mkdirSync(path, { recursive: true, mode: 0o700 })
  if (examine(file) && !readOnly) beginCreation(file)
  // lmdb's types do not declare noReadAhead.
  const options: RootDatabaseOptionsWithPath & { readonly noReadAhead: boolean } = {
    path,
    overlappingSync: false,
    noSync,
    noReadAhead: !readsInOrder && isReadAheadHarmful(circumstancesOf(file)),
    mapSize: mapBytes,
    maxDbs: 16,
    readOnly,
    encoding: 'binary',
  }
  const root = open<Buffer, string>(options) as RootDatabase
  const tree = (name: string): Tree => {
    const options = { name, encoding: 'binary', useVersions: true, keyEncoder: treeKeys } as const
    return root.openDB<Buffer, StoredKey>(options)
  }
  const table = (name: string): Table => root.openDB<Buffer, string>({ name, encoding: 'binary' })
  const list = (name: string): LogTable =>
    root.openDB<Buffer, Buffer>({ name, encoding: 'binary', keyEncoding: 'binary' })
  const meta = table('meta')
  let changes: LogTable
  try {
    const isNew = requireKnownFormat(meta, file, readOnly)
    changes = list('changes')
    if (!readOnly) prepare(meta, changes, isNew)
    if (!readOnly && isUnfinished(file)) endCreation(file)
  } catch (error) {
    void root.close()
    throw error
  }
  const specifications = tree('specifications')
  return {
    root,
    specifications,
    items: { json: tree('json'), string: tree('string') },
    updates: tree('updates'),
    due: list('due'),
    changes,
    keys: table('keys'),
    keyUses: table('keyUses'),
    receipts: table('receipts'),
    meta,
    storeId: meta.get(storeIdName)?.readDoubleBE() ?? 0,
    nextDueNumber: () => takeDueNumber(meta),
    transact: (callback) => transact(root, callback),
    freshen: () => specifications.resetReadTxn(),
  }
}

function transact(root: RootDatabase, callback: () => void): void {
  root.transactionSync(() => {
    // If lmdb cannot start a transaction, it continues without one. Its types do not declare `env`.
    const { env } = root as unknown as { readonly env: { getWriteTxnId(): number } }
    if (env.getWriteTxnId() === 0) throw new Error('no transaction could be started')
    callback()
  })
}

/** Call before any other read or write of the store. @returns true if the store is new */
function requireKnownFormat(meta: Table, file: string, readOnly: boolean): boolean {
  const version = meta.get(formatName)?.readDoubleBE()
  if (version === formatVersion) return false
  if (version === undefined && !readOnly && meta.getCount({ limit: 1 }) === 0) return true
  const advice =
    version !== undefined && version > formatVersion
      ? `written by a newer topicd; this version supports format ${formatVersion}: run the newer one, or restore a backup from before the upgrade`
      : `written by a build before 1.0.0; this version supports format ${formatVersion}: export its topics with that build, and import them here`
  throw new StoreUnusable(`${file} is in format ${version ?? 0}, ${advice}`)
}

/** In `meta`, only for the `check` of 1.0.0: no topic has an earlier version. */
const firstVersionName = 'conversionVersion'

/** Initialises a new store, and gives a store without an id one. Each is one transaction, so a crash leaves it complete or undone. */
function prepare(meta: Table, changes: LogTable, isNew: boolean): void {
  if (isNew) {
    meta.transactionSync(() => {
      const version = nextVersion(0, now().wallMs)
      meta.putSync(firstVersionName, numberRecord(version))
      changes.putSync(changeRecordKey({ version, total: 0 }), Buffer.alloc(0))
      meta.putSync(formatName, numberRecord(formatVersion))
    })
  }
  if (meta.get(storeIdName) === undefined) meta.putSync(storeIdName, numberRecord(1 + randomInt(storeIdMax)))
}

/**
 * In `meta`: a random number, so that a position in the log of another store, or of this one before a restore, is not mistaken for
 * one in this log. A backup has no id, and gets one when it is opened as a store.
 */
const storeIdName = 'storeId'

/** The largest range of `randomInt`. */
const storeIdMax = 2 ** 48 - 1

/** Turns an open copy of the store into a backup. */
export function forgetStoreId({ meta }: Environment): void {
  meta.removeSync(storeIdName)
}

/** In `meta`: the last number taken for an entry in `due`. */
const dueNumberName = 'dueNumber'

function takeDueNumber(meta: Table): number {
  const number = (meta.get(dueNumberName)?.readDoubleBE() ?? 0) + 1
  meta.putSync(dueNumberName, numberRecord(number))
  return number
}

/**
 * Writes a key in tree order into `target`, lmdb's own buffer. A range bound may be one byte longer than the longest stored key.
 * Instead of such a bound, writes the least key that can sort after it: its first `keyBytesMax` bytes, with the last one incremented.
 *
 * @returns the position after the key
 */
export function writeStoredKey(key: StoredKey, target: Buffer, position: number): number {
  if (typeof key === 'string') return writeKey(key, target, position)
  if (key.length <= keyBytesMax) {
    target.set(key, position)
    return position + key.length
  }
  const last = position + keyBytesMax - 1
  target.set(key.subarray(0, keyBytesMax), position)
  target[last] = (target[last] ?? 0) + 1
  return position + keyBytesMax
}

const treeKeys = { writeKey: writeStoredKey, readKey: decodeKey }
