/**
 * The edge to lmdb: opening the one environment, its databases, and what must be known about the library. Nothing outside
 * this folder imports lmdb, and nothing in it opens an environment anywhere else.
 *
 * Caveats, each held by a test:
 * - OPENING the environment while another process writes can overwrite that process's last acknowledged commits: every
 *   lmdb-js up to 3.5.6 sets the shared transaction number from a meta page that it read a moment before. So whoever
 *   opens must know that nobody writes: see cluster/store-opening.ts (hold, open, release) and cluster/directory-lock.ts (the lock).
 * - `overlappingSync`, the library's default, shows a commit to other processes before it is on disk. It is off here.
 * - Inside a condition block that failed, a nested condition of the kind "does not exist" comes out true and its writes
 *   are carried out. Conditions on versions nest correctly; so "does not exist" is only ever used outermost.
 * - A block's promise tells of its own condition, not of a nested one.
 * - The same files are never opened twice in one process, nor on a network file system.
 */
import { strict as assert } from 'node:assert'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Database, open, type RootDatabase } from 'lmdb'
import { keyBytesMax, mapBytes } from '../../limits.js'
import { decodeKey, writeKey } from '../../topics/key.js'
import type { Path } from '../../topics/path.js'
import type { TopicType } from '../../topics/topic.js'
import { StoreUnusable } from '../store.js'
import { dataFile } from './files.js'
import { examine } from './preflight.js'

/** A key as it is given to lmdb: a path, or bytes that are a key already. */
export type StoredKey = Path | Buffer

export type Tree = Database<Buffer, StoredKey>
export type Table = Database<Buffer, string>

/** An items tree as a page scan sees it: no keys, and each value is what the copier answers. */
export type PageTree = Database<number, StoredKey>

/** Takes the bytes of an item as lmdb hands them out, good only during the call. */
export interface ItemCopier {
  readonly copy: (bytes: Buffer, size: number) => number
}

/**
 * The databases of the environment. A topic stands in `specifications` and in the tree of its type, always both:
 *
 *     specifications   path → type, properties, times (specification.ts)   version: unique for every write of the record
 *     items.json       path → fetch result item                            version: plain or propertied
 *     items.string     the same for topics of type string
 *     updates          path → time of the last update, where REMOVAL asks  version: unique for every update
 *     due              time and number → path of the topic that is due     (expiry.ts)   time: 0 while its clause waits
 *     keys, keyUses    API key name → record; → when last used             (keys.ts)
 *     meta             counters, the clock, and the version of this format
 */
export interface Environment {
  readonly root: RootDatabase
  readonly specifications: Tree
  readonly items: Readonly<Record<TopicType, Tree>>
  readonly pages: Readonly<Record<TopicType, PageTree>>
  readonly updates: Tree
  readonly due: Database<Buffer, Buffer>
  readonly keys: Table
  readonly keyUses: Table
  readonly meta: Table
  /** A number that no other call in any process ever gets, for versions. */
  nextVersion(): number
  /** Ends the snapshot that reads have shared so far: the next read sees every commit made until then. */
  freshen(): void
}

interface TreeStats {
  readonly pageSize: number
  readonly treeBranchPageCount: number
  readonly treeLeafPageCount: number
  readonly overflowPages: number
}

/** The pages that hold something, in bytes: what a compacted copy takes. */
export function bytesUsed({ root, specifications, items, updates, due, keys, keyUses, meta }: Environment): number {
  let bytes = 0
  for (const database of [root, specifications, items.json, items.string, updates, due, keys, keyUses, meta]) {
    const { pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages } = database.getStats() as TreeStats
    bytes += pageSize * (treeBranchPageCount + treeLeafPageCount + overflowPages)
  }
  return bytes
}

/** The version of what is stored and how; a store without one is of version 1. */
const formatVersion = 1

const formatName = 'format'

/** How many unique numbers one stretch holds; a process takes the next stretch when one is used up. */
const stretchSize = 2 ** 28

/** An item whose topic was created without properties, so that its type and existence are all there is to know. */
export const plainVersion = 1

/** An item whose topic has properties: whoever writes it looks at the specification. */
export const propertiedVersion = 2

/**
 * Opens (and on first use creates) the environment in `directory`. Nobody else may be writing to it meanwhile.
 *
 * The first unique numbers are taken here too, so that opening is the one moment at which a process writes unasked.
 *
 * @param copier receives each item of a page scan
 * @param noSync only for the control of the power-cut test: commits that are not on disk when they are acknowledged
 * @throws StoreUnusable when the files are damaged, may not be used, or were written by a newer program; they are as before
 */
export function openEnvironment(directory: string, copier: ItemCopier, noSync = false): Environment {
  const file = dataFile(directory)
  const path = dirname(file)
  mkdirSync(path, { recursive: true, mode: 0o700 })
  examine(file)
  const root = open<Buffer, string>({
    path,
    overlappingSync: false,
    noSync,
    mapSize: mapBytes,
    maxDbs: 16,
    encoding: 'binary',
  }) as RootDatabase
  const tree = (name: string): Tree => {
    const options = { name, encoding: 'binary', useVersions: true, keyEncoder: treeKeys } as const
    return root.openDB<Buffer, StoredKey>(options)
  }
  const page = (name: string, copier: ItemCopier): PageTree => {
    const encoder = { encode: () => assert.fail('pages are only read'), decode: copier.copy }
    const options = { name, useVersions: true, keyEncoder: unreadKeys, encoder } as const
    return root.openDB<number, StoredKey>(options)
  }
  const table = (name: string): Table => root.openDB<Buffer, string>({ name, encoding: 'binary' })
  const meta = table('meta')
  try {
    requireFormat(meta, file)
  } catch (error) {
    void root.close()
    throw error
  }
  const specifications = tree('specifications')
  const numbers = uniqueNumbers(meta)
  return {
    root,
    specifications,
    items: { json: tree('json'), string: tree('string') },
    pages: { json: page('json', copier), string: page('string', copier) },
    updates: tree('updates'),
    due: root.openDB<Buffer, Buffer>({ name: 'due', encoding: 'binary', keyEncoding: 'binary' }),
    keys: table('keys'),
    keyUses: table('keyUses'),
    meta,
    nextVersion: numbers,
    freshen: () => specifications.resetReadTxn(),
  }
}

/** Sees to it that the store is of this program's format, before anything else in it is read or written. */
function requireFormat(meta: Table, file: string): void {
  const version = meta.get(formatName)?.readDoubleBE()
  if (version === undefined) {
    const record = Buffer.allocUnsafe(8)
    record.writeDoubleBE(formatVersion)
    meta.transactionSync(() => meta.putSync(formatName, record))
  } else if (version > formatVersion) {
    throw new StoreUnusable(
      `${file} has the format ${version} of a newer topicd, and this one knows formats up to ${formatVersion}: ` +
        'run the newer one, or put a backup from before in its place',
    )
  }
}

/**
 * Path keys in tree order, written straight into lmdb's own buffer. A bound of a range may be one byte longer than any key
 * that is stored: the least stored key that can sort after it is then its first bytes with the last of them one higher.
 */
const treeKeys = {
  writeKey(key: StoredKey, target: Buffer, position: number): number {
    if (typeof key === 'string') return writeKey(key, target, position)
    if (key.length <= keyBytesMax) {
      target.set(key, position)
      return position + key.length
    }
    target.set(key.subarray(0, keyBytesMax), position)
    target[position + keyBytesMax - 1]++
    return position + keyBytesMax
  },
  readKey(source: Buffer, start: number, end: number): Path {
    return decodeKey(source, start, end)
  },
}

/** For scans that need no keys: decoding them would be a third of a page's cost. */
const unreadKeys = { writeKey: treeKeys.writeKey, readKey: () => null }

/** Stretches are taken in a transaction of their own, so no two processes ever hold the same one. */
function uniqueNumbers(meta: Table): () => number {
  let next = takeStretch(meta)
  let left = stretchSize
  return () => {
    if (left === 0) {
      next = takeStretch(meta)
      left = stretchSize
    }
    left--
    return next++
  }
}

function takeStretch(meta: Table): number {
  return meta.transactionSync(() => {
    const idBlock = (meta.get('stretch')?.readDoubleBE() ?? 0) + 1
    const record = Buffer.allocUnsafe(8)
    record.writeDoubleBE(idBlock)
    meta.putSync('stretch', record)
    return idBlock * stretchSize
  })
}
