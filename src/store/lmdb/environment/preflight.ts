/**
 * Examines a store's files before lmdb opens them. lmdb trusts them. On a truncated file it crashes the process with SIGBUS, and on
 * a zeroed page, a foreign file or an inaccessible one with SIGSEGV, without a message. For a sound store only a few reads may be
 * made here, because the writer pauses while a worker opens the store. Not all damage is detected here: LMDB has no checksums, and a full
 * examination is the purpose of `check`. Damage that would prevent `check` from running is detected.
 *
 * Once a first commit is on disk, a crash leaves nothing behind that is rejected here. It can only tear the content of the meta
 * page that was being written, and LMDB then uses the other one. The fields that identify a meta page are never rewritten. The file
 * may end before its last page: pages allocated and freed within one commit are never written, but are in the list of free pages.
 * Before the first commit, a crash may leave a file that is empty, has one page, or contains only zeros. A damaged store may look
 * the same, so such a file is rejected unless the mark (files.ts) shows that it is left over from a first start.
 */
import { accessSync, closeSync, constants, fstatSync, lstatSync, openSync, readSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { StoreUnusable } from '../../errors.js'
import {
  freeRuns,
  type Meta,
  metaBytes,
  type ReadAt,
  readData,
  readMeta,
  readTreePage,
  rootOfNode,
} from './data-pages.js'
import { isUnfinished, stagingDirectory } from './files.js'

/** The data format that the bundled LMDB reads. */
const dataVersion = 2

const pageBytesMin = 512
const pageBytesMax = 65_536

/** Pages 0 and 1 are the meta pages. */
const metaPages = 2

/**
 * Examines a data file and the lock file next to it; either may be missing. Removes the remains of an interrupted creation.
 *
 * @returns whether there is no store yet
 * @throws StoreUnusable with the fault and the remedy; nothing has been changed in that case
 */
export function examine(file: string): boolean {
  const directory = dirname(file)
  const lockFile = join(directory, 'lock.mdb')
  const isNew = !isUsable(file)
  const hasLock = isUsable(lockFile)
  if (isNew || !hasLock) requireAccess(directory, constants.W_OK | constants.X_OK, 'create files in it')
  if (isNew) {
    requireNoRestore(dirname(directory))
    return true
  }
  const { problem, isBlank } = inspectFile(file)
  if (problem === undefined) return false
  if (isBlank && isUnfinished(file)) {
    rmSync(file)
    rmSync(lockFile, { force: true })
    return true
  }
  const put = isBlank
    ? 'If nothing was ever stored here (after an interrupted first start), remove the file. Otherwise put'
    : 'Put'
  throw new StoreUnusable(
    `${file} ${problem}. ${put} a backup in its place: move the damaged file away, and run ` +
      `"topicd restore FILE --data ${dirname(directory)}"`,
  )
}

/**
 * Returns false if the file is missing. @throws StoreUnusable if it is not a plain file, or this process has no permission to find,
 * read and write it
 */
function isUsable(file: string): boolean {
  try {
    if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return false
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') requireAccess(dirname(file), constants.X_OK, 'search it')
    throw error
  }
  const stats = statSync(file, { throwIfNoEntry: false })
  if (stats === undefined)
    throw new StoreUnusable(`${file} is a symbolic link whose target does not exist: mount or restore the target`)
  if (!stats.isFile())
    throw new StoreUnusable(`${file} is ${stats.isDirectory() ? 'a directory' : 'not a plain file'}: move it away`)
  requireAccess(file, constants.R_OK | constants.W_OK, 'read and write it')
  return true
}

/** @throws StoreUnusable, which names the path's owner and the remedy, if this process does not have this access to the path */
function requireAccess(path: string, access: number, purpose: string): void {
  try {
    accessSync(path, access)
  } catch (error) {
    const { uid, gid, mode } = statSync(path)
    const owner = `it is owned by uid ${uid}, gid ${gid}, with mode ${(mode & 0o7777).toString(8).padStart(4, '0')}`
    const cure = uid === process.getuid?.() ? 'change its mode' : 'change its owner'
    const reason = (error as NodeJS.ErrnoException).code
    throw new StoreUnusable(
      `${path}: this process (uid ${process.getuid?.()}) cannot ${purpose} (${reason}); ${owner}: ${cure}`,
    )
  }
}

/** Prevents a new, empty store from taking the place of one whose restore was interrupted by a power cut. */
function requireNoRestore(data: string): void {
  const staging = stagingDirectory(data)
  if (lstatSync(staging, { throwIfNoEntry: false }) === undefined) return
  throw new StoreUnusable(
    `a restore in ${data} was interrupted: run "topicd restore FILE --data ${data}" again, or delete ${staging} to start with an empty store`,
  )
}

/** The name, in the file's main page, of a database that every store has. */
const databaseName = 'specifications'

/**
 * Checks quickly whether an open file is a store of topics. Returns the reason why it is not, worded to follow the file's name.
 * Such a file is damaged or belongs to another program, and opening it would turn it into an empty store. Undefined if it seems to
 * be a store.
 */
export function topicsProblem(descriptor: number): string | undefined {
  const { problem, hasTopics } = inspect(descriptor)
  return problem ?? (hasTopics ? undefined : "is an LMDB file, but not topicd's")
}

interface Inspected {
  /** The reason why the file cannot be opened safely, if any. */
  readonly problem: string | undefined
  /** The file may be only the remains of a first start. */
  readonly isBlank: boolean
  readonly hasTopics: boolean
}

function inspect(descriptor: number): Inspected {
  const { size } = fstatSync(descriptor)
  const read: ReadAt = (offset, bytes) => {
    if (offset >= size) return Buffer.alloc(0)
    const buffer = Buffer.allocUnsafe(Math.min(bytes, size - offset))
    return buffer.subarray(0, readSync(descriptor, buffer, 0, buffer.length, offset))
  }
  const latest = latestMeta(read, size)
  if (typeof latest === 'string') return { problem: latest, isBlank: isBlank(read, size), hasTopics: false }
  const { mainRoot = Infinity, pageSize } = latest
  const hasTopics = read(mainRoot * pageSize, pageSize).includes(databaseName)
  return { problem: problemOfSnapshot(read, latest, size), isBlank: false, hasTopics }
}

function inspectFile(file: string): Inspected {
  const descriptor = openSync(file, 'r')
  try {
    return inspect(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** True for possible remains of a first start that was interrupted before its first commit: less than two pages, or only zeros. */
function isBlank(read: ReadAt, size: number): boolean {
  if (size > metaPages * pageBytesMax) return false
  const first = readMeta(read, 0)
  return first === undefined ? read(0, size).every((byte) => byte === 0) : size < metaPages * first.pageSize
}

/** The meta page that LMDB will use, or the reason why it cannot use any. */
function latestMeta(read: ReadAt, size: number): Meta | string {
  if (size === 0) return 'is empty'
  const first = readMeta(read, 0)
  if (first === undefined)
    return read(0, metaBytes).every((byte) => byte === 0)
      ? 'is damaged: its first page is all zeros'
      : 'is not an LMDB file, or its first page is damaged'
  const { version, pageSize } = first
  if (version !== dataVersion) return `has LMDB's data format ${version}; this program reads format ${dataVersion}`
  const isPowerOfTwo = (pageSize & (pageSize - 1)) === 0
  if (!isPowerOfTwo || pageSize < pageBytesMin || pageSize > pageBytesMax)
    return `is damaged: it states a page size of ${pageSize}`
  if (size < metaPages * pageSize) return `is damaged: it ends after ${size} bytes, before its second page is complete`
  const second = readMeta(read, pageSize)
  if (second?.version !== version || second.pageSize !== pageSize)
    return 'is damaged: its second page is not a meta page'
  const latest = second.transaction > first.transaction ? second : first
  // LMDB stores the meta page of an even transaction on page 0, of an odd one on page 1.
  if (latest.transaction % metaPages !== (latest === second ? 1 : 0)) return 'is damaged: its meta pages are swapped'
  return latest
}

/** Examines the first pages that are read when the store is opened. */
function problemOfSnapshot(read: ReadAt, meta: Meta, size: number): string | undefined {
  const { pageSize, lastPage, freeRoot, mainRoot } = meta
  for (const root of [freeRoot, mainRoot]) {
    if (root === undefined) continue
    const page = root <= lastPage ? readTreePage(read, root, pageSize) : undefined
    const below = root === mainRoot && page?.isLeaf === true ? page.nodes.flatMap((node) => rootOfNode(node) ?? []) : []
    const lost = page === undefined ? root : below.find((each) => readTreePage(read, each, pageSize) === undefined)
    if (lost !== undefined)
      return `is damaged: page ${lost} is not the root of a tree, as it should be (${sizeOf(size, pageSize)})`
  }
  const pages = Math.floor(size / pageSize)
  const missing = lastPage + 1 - pages
  if (missing <= 0 || freePagesFrom(read, meta, pages) === missing) return undefined
  return `is truncated: it has ${sizeOf(size, pageSize)}, but pages up to ${lastPage} are in use`
}

function sizeOf(size: number, pageSize: number): string {
  return `${size} bytes, which hold pages 0 to ${Math.floor(size / pageSize) - 1}`
}

/** Counts the free pages from page `from` on: in a sound file, no page is in two runs. */
function freePagesFrom(read: ReadAt, { freeRoot, pageSize, lastPage }: Meta, from: number): number {
  const seen = new Set<number>()
  const pending = freeRoot === undefined ? [] : [freeRoot]
  let pages = 0
  for (let number = pending.pop(); number !== undefined; number = pending.pop()) {
    const page = seen.has(number) ? undefined : readTreePage(read, number, pageSize)
    seen.add(number)
    for (const node of page?.nodes ?? []) {
      if (page?.isLeaf !== true) pending.push(node.child)
      else
        for (const { first, length } of freeRuns(readData(read, node, pageSize)))
          pages += Math.max(0, Math.min(first + length, lastPage + 1) - Math.max(first, from))
    }
  }
  return pages
}
