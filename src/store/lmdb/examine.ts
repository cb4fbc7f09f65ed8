/**
 * What is looked at before lmdb opens a store's files. lmdb trusts them: on a truncated file it ends the process with SIGBUS,
 * on a zeroed page, a foreign file or one that it may not open with SIGSEGV, without a word. A sound store costs a few reads
 * here, for every worker opens while all others hold their writes. This cannot find everything (that is `check`'s work, and
 * LMDB has no checksums); it finds what would keep `check` from running at all.
 *
 * A crash leaves nothing behind that is refused here. What it can tear is the content of the meta page that was being
 * written, and LMDB then goes by the other one; it never writes what makes a page a meta page again. The file may end before its last
 * page: pages that were taken and freed within one commit are never written. They are then among the free ones.
 */
import { accessSync, closeSync, constants, fstatSync, lstatSync, openSync, readSync, type Stats, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { StoreUnusable } from '../store.js'
import { freeRuns, type Meta, metaBytes, type ReadAt, readData, readMeta, readTreePage, rootOfNode } from './data-pages.js'

/** The data format that the bundled LMDB reads. */
const dataVersion = 2

const pageBytesMin = 512
const pageBytesMax = 65_536

/** The meta pages are the pages 0 and 1. */
const metaPages = 2

/**
 * Looks at a data file, and at the lock file beside it; files that are not there yet are fine.
 *
 * @throws StoreUnusable with what is wrong and what to do; nothing has been changed
 */
export function examine(file: string): void {
  const directory = dirname(file)
  const lockFile = join(directory, 'lock.mdb')
  const isNew = !isUsable(file)
  const hasLock = isUsable(lockFile)
  if (isNew || !hasLock) requireAccess(directory, constants.W_OK | constants.X_OK, 'create files in it')
  if (isNew) return
  const problem = problemOf(file)
  if (problem === undefined) return
  throw new StoreUnusable(
    `${file} ${problem}. Put a backup in its place and look at it with "topicd check"; keep the damaged file until that is done`,
  )
}

/** Whether there is a file, which is then a plain one that this process can read and write. */
function isUsable(file: string): boolean {
  const found = stat(file)
  if (found === undefined) return false
  if (!found.isFile()) throw new StoreUnusable(`${file} is ${found.isDirectory() ? 'a directory' : 'no plain file'}: move it away`)
  requireAccess(file, constants.R_OK | constants.W_OK, 'read and write it')
  return true
}

function stat(file: string): Stats | undefined {
  const there = lstatSync(file, { throwIfNoEntry: false })
  const found = there && statSync(file, { throwIfNoEntry: false })
  if (there !== undefined && found === undefined) {
    throw new StoreUnusable(`${file} is a symbolic link to something that does not exist: mount or restore what it leads to`)
  }
  return found
}

function requireAccess(path: string, access: number, purpose: string): void {
  try {
    accessSync(path, access)
  } catch (error) {
    const { uid, gid, mode } = statSync(path)
    const owner = `it belongs to uid ${uid}, gid ${gid}, with mode ${(mode & 0o7777).toString(8).padStart(4, '0')}`
    const cure = uid === process.getuid?.() ? 'change its mode' : 'change its owner'
    const reason = (error as NodeJS.ErrnoException).code
    throw new StoreUnusable(`${path}: this process (uid ${process.getuid?.()}) cannot ${purpose} (${reason}); ${owner}: ${cure}`)
  }
}

/** What makes the file unfit to be opened; undefined for nothing. */
function problemOf(file: string): string | undefined {
  const descriptor = openSync(file, 'r')
  try {
    const read: ReadAt = (offset, bytes) => {
      const buffer = Buffer.allocUnsafe(bytes)
      return buffer.subarray(0, readSync(descriptor, buffer, 0, bytes, offset))
    }
    return problemOfPages(read, fstatSync(descriptor).size)
  } finally {
    closeSync(descriptor)
  }
}

function problemOfPages(read: ReadAt, size: number): string | undefined {
  if (size === 0) return 'is empty, which a store never is, not even a new one'
  const first = readMeta(read, 0)
  if (first === undefined) return isZeroed(read) ? 'is damaged: its first page is all zeros' : 'is no LMDB file, or its first page is damaged'
  const { version, pageSize } = first
  if (version !== dataVersion) return `is of LMDB's data format ${version}; this program reads format ${dataVersion}`
  const isPowerOfTwo = (pageSize & (pageSize - 1)) === 0
  if (!isPowerOfTwo || pageSize < pageBytesMin || pageSize > pageBytesMax) return `is damaged: it gives its page size as ${pageSize}`
  if (size < metaPages * pageSize) return `is damaged: it ends after ${size} bytes, before its second page is complete`
  const second = readMeta(read, pageSize)
  if (second?.version !== version || second.pageSize !== pageSize) return 'is damaged: its second page is no meta page'
  const latest = second.transaction > first.transaction ? second : first
  // LMDB looks for the meta page of a transaction by whether its number is odd.
  if (latest.transaction % metaPages !== (latest === second ? 1 : 0)) return 'is damaged: its meta pages have changed places'
  return problemOfSnapshot(read, latest, size)
}

function isZeroed(read: ReadAt): boolean {
  return read(0, metaBytes).every((byte) => byte === 0)
}

/** What is wrong with the pages that opening the store touches at once. */
function problemOfSnapshot(read: ReadAt, meta: Meta, size: number): string | undefined {
  const { pageSize, lastPage, freeRoot, mainRoot } = meta
  for (const root of [freeRoot, mainRoot]) {
    if (root === undefined) continue
    const page = root <= lastPage ? readTreePage(read, root, pageSize) : undefined
    if (page === undefined) return `is damaged: page ${root} should be the root of a tree, and is not (${sizeOf(size, pageSize)})`
    if (root !== mainRoot || !page.isLeaf) continue
    const lost = page.nodes.map(rootOfNode).find((below) => below !== undefined && readTreePage(read, below, pageSize) === undefined)
    if (lost !== undefined) return `is damaged: page ${lost} should be the root of a tree, and is not (${sizeOf(size, pageSize)})`
  }
  const pages = Math.floor(size / pageSize)
  const missing = lastPage + 1 - pages
  if (missing <= 0 || freePagesFrom(read, meta, pages) === missing) return undefined
  return `is truncated: it has ${sizeOf(size, pageSize)}, and pages up to ${lastPage} are in use`
}

function sizeOf(size: number, pageSize: number): string {
  return `${size} bytes, so pages up to ${Math.floor(size / pageSize) - 1}`
}

/** How many of the pages from `from` up to the last one are free. */
function freePagesFrom(read: ReadAt, { freeRoot, pageSize, lastPage }: Meta, from: number): number {
  const seen = new Set<number>()
  const free = new Set<number>()
  const left = freeRoot === undefined ? [] : [freeRoot]
  for (let number = left.pop(); number !== undefined; number = left.pop()) {
    const page = seen.has(number) ? undefined : readTreePage(read, number, pageSize)
    seen.add(number)
    for (const node of page?.nodes ?? []) {
      if (page?.isLeaf !== true) {
        left.push(node.child)
        continue
      }
      for (const { first, length } of freeRuns(readData(read, node, pageSize))) {
        const end = Math.min(first + length, lastPage + 1)
        for (let each = Math.max(first, from); each < end; each++) free.add(each)
      }
    }
  }
  return free.size
}
