/**
 * Room on the data directory's file system: a full disk kills a process that uses LMDB at any point of its work, so a
 * write is admitted only if the most that it, and the others of its commit, can add to the file still fits.
 *
 * LMDB never changes a page in place. A commit writes a copy of each page that it touches, to free pages of the file if
 * there are any, and the pages that it replaced become free only later. So even a removal may need space: for each
 * operation, one page on each level of each tree that it changes. All operations share the root, so it is the page of a
 * split leaf that counts instead. No operation copies more pages than there are.
 */
import type { WriteSize } from '../../engine.js'
import type { TreePages } from '../environment/environment.js'
import { freeBytes } from '../environment/files.js'

/** Left free by every write, removals too: for pages that no estimate counts, such as the list of free pages. */
const diskBytesLeftMin = 1024 * 1024

const treesAgeMsMax = 100

const pageBytes = 4096

/** A record of more than half a page gets whole pages of its own, which at worst are nearly twice its size. */
const bytesPerRecordByte = 2

/** There is room for a write, or there will be once the others of the commit are on disk, or there is none. */
type Admission = 'admitted' | 'later' | 'full'

export class DiskRoom {
  #trees: TreePages = { levels: 0, pages: 0 }
  #treesAtMs = -Infinity
  /** When the commit began. */
  #freeBytes = 0
  #admittedBytes = 0

  /** @param freeBytesMin with less free space, writes that grow are refused. Those of one commit may use half of it */
  constructor(
    private readonly directory: string,
    readonly freeBytesMin: number,
    private readonly readTrees: () => TreePages,
  ) {}

  /** Now; 0 if it cannot be measured. */
  readonly freeBytes = (): number => {
    try {
      return freeBytes(this.directory)
    } catch {
      return 0
    }
  }

  readonly isNearlyFull = (): boolean => this.freeBytes() < this.freeBytesMin

  /** Begins a commit, when the one before it is on disk. */
  begin(): void {
    this.#freeBytes = this.freeBytes()
    this.#admittedBytes = 0
    if (performance.now() - this.#treesAtMs < treesAgeMsMax) return
    this.#trees = this.readTrees()
    this.#treesAtMs = performance.now()
  }

  admit({ operations, bytes, grows }: WriteSize): Admission {
    const { levels, pages } = this.#trees
    const copied = Math.min(operations * levels, operations + pages)
    const needed = pageBytes * copied + bytesPerRecordByte * bytes
    const usable = this.#freeBytes - (grows ? this.freeBytesMin / 2 : diskBytesLeftMin)
    if (needed > usable || (grows && this.#freeBytes < this.freeBytesMin)) return 'full'
    if (this.#admittedBytes + needed > usable) return 'later'
    this.#admittedBytes += needed
    return 'admitted'
  }
}
