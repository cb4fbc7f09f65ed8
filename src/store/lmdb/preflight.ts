/**
 * What is looked at before lmdb opens a store's files. lmdb trusts them: on a truncated file it ends the process with SIGBUS,
 * on a zeroed page, a foreign file or one that it may not open with SIGSEGV, without a word. A sound store costs a few reads
 * here, for every worker opens while all others hold their writes. This cannot find everything (that is `check`'s work, and
 * LMDB has no checksums); it finds what would keep `check` from running at all.
 *
 * Once a first commit is on disk, a crash leaves nothing behind that is refused here. What it can tear is the content of the
 * meta page that was being written, and LMDB then goes by the other one; it never writes what makes a page a meta page again.
 * The file may end before its last page: pages that were taken and freed within one commit are never written. They are then
 * among the free ones. Before the first commit, a crash may leave a file that is empty, has one page, or holds only zeros.
 * Such a file is refused too, since a damaged store may look the same; the message says when it may be removed.
 */
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  type Stats,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { StoreUnusable } from '../store.js'
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
  const { problem, isBlank } = look(file)
  if (problem === undefined) return
  const cure = 'ut a backup in its place and look at it with "topicd check"; keep the damaged file until that is done'
  throw new StoreUnusable(
    isBlank
      ? `${file} ${problem}. If nothing was ever stored here, as when the first start was cut off, remove the file; otherwise p${cure}`
      : `${file} ${problem}. P${cure}`,
  )
}

/** Whether there is a file, which is then a plain one that this process can read and write. */
function isUsable(file: string): boolean {
  const found = stat(file)
  if (found === undefined) return false
  if (!found.isFile())
    throw new StoreUnusable(`${file} is ${found.isDirectory() ? 'a directory' : 'no plain file'}: move it away`)
  requireAccess(file, constants.R_OK | constants.W_OK, 'read and write it')
  return true
}

function stat(file: string): Stats | undefined {
  const there = lstatSync(file, { throwIfNoEntry: false })
  const found = there && statSync(file, { throwIfNoEntry: false })
  if (there !== undefined && found === undefined) {
    throw new StoreUnusable(
      `${file} is a symbolic link to something that does not exist: mount or restore what it leads to`,
    )
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
    throw new StoreUnusable(
      `${path}: this process (uid ${process.getuid?.()}) cannot ${purpose} (${reason}); ${owner}: ${cure}`,
    )
  }
}

/** What makes the file unfit to be opened, if anything, and whether it holds no more than a store that was never finished. */
function look(file: string): { readonly problem: string | undefined; readonly isBlank: boolean } {
  const descriptor = openSync(file, 'r')
  try {
    const { size } = fstatSync(descriptor)
    const read: ReadAt = (offset, bytes) => {
      if (offset >= size) return Buffer.alloc(0)
      const buffer = Buffer.allocUnsafe(Math.min(bytes, size - offset))
      return buffer.subarray(0, readSync(descriptor, buffer, 0, buffer.length, offset))
    }
    return { problem: problemOfPages(read, size), isBlank: isBlank(read, size) }
  } finally {
    closeSync(descriptor)
  }
}

/** Whether this may be what a first start left that was cut off before its first commit: less than two pages, or only zeros. */
function isBlank(read: ReadAt, size: number): boolean {
  if (size > metaPages * pageBytesMax) return false
  const first = readMeta(read, 0)
  return first === undefined ? read(0, size).every((byte) => byte === 0) : size < metaPages * first.pageSize
}

function problemOfPages(read: ReadAt, size: number): string | undefined {
  if (size === 0) return 'is empty'
  const first = readMeta(read, 0)
  if (first === undefined)
    return isZeroed(read) ? 'is damaged: its first page is all zeros' : 'is no LMDB file, or its first page is damaged'
  const { version, pageSize } = first
  if (version !== dataVersion) return `is of LMDB's data format ${version}; this program reads format ${dataVersion}`
  const isPowerOfTwo = (pageSize & (pageSize - 1)) === 0
  if (!isPowerOfTwo || pageSize < pageBytesMin || pageSize > pageBytesMax)
    return `is damaged: it gives its page size as ${pageSize}`
  if (size < metaPages * pageSize) return `is damaged: it ends after ${size} bytes, before its second page is complete`
  const second = readMeta(read, pageSize)
  if (second?.version !== version || second.pageSize !== pageSize) return 'is damaged: its second page is no meta page'
  const latest = second.transaction > first.transaction ? second : first
  // LMDB looks for the meta page of a transaction by whether its number is odd.
  if (latest.transaction % metaPages !== (latest === second ? 1 : 0))
    return 'is damaged: its meta pages have changed places'
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
    if (page === undefined)
      return `is damaged: page ${root} should be the root of a tree, and is not (${sizeOf(size, pageSize)})`
    if (root !== mainRoot || !page.isLeaf) continue
    const lost = page.nodes
      .map(rootOfNode)
      .find((below) => below !== undefined && readTreePage(read, below, pageSize) === undefined)
    if (lost !== undefined)
      return `is damaged: page ${lost} should be the root of a tree, and is not (${sizeOf(size, pageSize)})`
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
  const runs: { readonly first: number; readonly end: number }[] = []
  const left = freeRoot === undefined ? [] : [freeRoot]
  for (let number = left.pop(); number !== undefined; number = left.pop()) {
    const page = seen.has(number) ? undefined : readTreePage(read, number, pageSize)
    seen.add(number)
    for (const node of page?.nodes ?? []) {
      if (page?.isLeaf !== true) {
        left.push(node.child)
        continue
      }
      for (const { first, length } of freeRuns(readData(read, node, pageSize)))
        runs.push({ first, end: first + length })
    }
  }
  return pagesOf(runs, from, lastPage + 1)
}

/** How many pages from `from` to before `to` lie in any of the runs, which may overlap, and be of any length in a damaged file. */
function pagesOf(runs: { readonly first: number; readonly end: number }[], from: number, to: number): number {
  let pages = 0
  let counted = from
  for (const { first, end } of runs.sort((a, b) => a.first - b.first)) {
    const begin = Math.max(first, counted)
    const stop = Math.min(end, to)
    if (stop <= begin) continue
    pages += stop - begin
    counted = stop
  }
  return pages
}
