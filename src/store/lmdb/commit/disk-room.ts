/**
 * Room on the data directory's file system. A full disk kills a process that uses LMDB, at any point in its work. So a write is
 * admitted only if there is room for the most that it and the other writes of its commit can add to the file.
 *
 * LMDB never changes a page in place. A commit writes a copy of each page that it changes, to free pages of the file if there are
 * any. The replaced pages become free only later. So even a removal may need space: for each operation, one page on each level of
 * each tree that it changes. All operations share the root, which makes up for the second page of a split leaf. A commit copies
 * no page twice, so it needs at most as many pages as there are, plus one for each operation.
 */
import type { WriteSize } from '../../engine.js'
import type { TreePages } from '../environment/environment.js'
import { freeBytes } from '../environment/files.js'

/** Every write, even a removal, leaves this much free for pages that no estimate covers, such as the list of free pages. */
const diskBytesLeftMin = 1024 * 1024

const treesAgeMsMax = 100

const pageBytes = 4096

/** A record of more than half a page gets its own whole pages, which at worst are nearly twice its size. */
const bytesPerRecordByte = 2

/** `admitted`: there is room; `later`: there will be room once the commit's other writes are on disk; `full`: there is no room. */
type Admission = 'admitted' | 'later' | 'full'

export class DiskRoom {
  #trees: TreePages = { levels: 0, pages: 0 }
  #treesAtMs = -Infinity
  /** Measured at the start of the commit. */
  #freeBytes = 0
  #admittedBytes = 0

  /** @param freeBytesMin if less space is free, writes that may add bytes are rejected. One commit's writes may use half of it */
  constructor(
    private readonly directory: string,
    readonly freeBytesMin: number,
    private readonly readTrees: () => TreePages,
  ) {}

  /** The space that is free now; 0 if it cannot be measured. */
  readonly freeBytes = (): number => {
    try {
      return freeBytes(this.directory)
    } catch {
      return 0
    }
  }

  readonly isNearlyFull = (): boolean => this.freeBytes() < this.freeBytesMin

  /** Starts a commit, after the previous one is on disk. */
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
