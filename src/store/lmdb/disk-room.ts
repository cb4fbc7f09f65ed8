/**
 * Room on the data directory's file system: a full disk kills a process that uses LMDB at any point of its work, so a
 * write is admitted only if the most that it, and the writes in flight, can add to the file still fits.
 *
 * LMDB never changes a page in place. A commit writes a copy of each page that it touches, to free pages of the file if
 * there are any, and the pages that it replaced become free only later. So even a removal may need space: for each
 * operation, one page on each level of each tree that it changes. All operations share the root, so it is the page of a
 * split leaf that counts instead. No operation copies more pages than there are.
 */
import { statfsSync } from 'node:fs'
import { diskBytesLeftMin } from '../../limits.js'

/** What a write may do to the file. */
export interface WriteSize {
  readonly operations: number
  /** The bytes of its records, apart from paths. */
  readonly bytes: number
  /** Whether it may add topics, or bytes to them: such a write leaves more space. */
  readonly grows: boolean
}

/** A removal, or a write of one small record of the service's own. */
export const smallWrite: WriteSize = { operations: 1, bytes: 0, grows: false }

export interface DiskRoomOptions {
  /** With less free space, in bytes, writes that grow are refused. The writes in flight may use half of it. */
  readonly freeBytesMin: number
}

/** Between two measurements, while there is room. */
const intervalMs = 100

const pageBytes = 4096

/** A record of more than half a page gets whole pages of its own, which at worst are nearly twice its size. */
const bytesPerRecordByte = 2

/** The trees that topics are in, as one operation sees them. */
export interface TreePages {
  /** The most levels that one operation changes, in all trees together; an empty tree counts as one. */
  readonly levels: number
  /** Pages in these trees. */
  readonly pages: number
}

/** A reservation, in bytes; or why there is none: there will be room once the writes in flight are on disk, or not. */
type Admission = number | 'later' | 'full'

export class DiskRoom {
  readonly freeBytesMin: number
  readonly #directory: string
  readonly #readTrees: () => TreePages
  readonly #timer: NodeJS.Timeout
  #freeBytes = 0
  #trees: TreePages = { levels: 0, pages: 0 }
  /** Reserved by writes in flight. */
  #reservedBytes = 0
  /** Reserved when the free space was measured, or since: the measurement may not show these. */
  #unmeasuredBytes = 0

  constructor(directory: string, { freeBytesMin }: DiskRoomOptions, readTrees: () => TreePages) {
    this.freeBytesMin = freeBytesMin
    this.#directory = directory
    this.#readTrees = readTrees
    this.#measureAll()
    this.#timer = setInterval(() => this.#measureAll(), intervalMs)
    this.#timer.unref()
  }

  /** As last measured; 0 while it cannot be measured. */
  readonly freeBytes = (): number => this.#freeBytes

  readonly isNearlyFull = (): boolean => this.#freeBytes < this.freeBytesMin

  /** Reserves what the write may need at worst, to be released once it is on disk or has failed. */
  reserve(write: WriteSize): Admission {
    const { levels, pages } = this.#trees
    const copied = Math.min(write.operations * levels, write.operations + pages)
    const bytes = pageBytes * copied + bytesPerRecordByte * write.bytes
    if (!this.#fits(write, this.#unmeasuredBytes + bytes)) {
      this.#measure()
      if (!this.#fits(write, bytes)) return 'full'
      if (!this.#fits(write, this.#unmeasuredBytes + bytes)) return 'later'
    }
    this.#reservedBytes += bytes
    this.#unmeasuredBytes += bytes
    return bytes
  }

  release(bytes: number): void {
    this.#reservedBytes -= bytes
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #fits({ grows }: WriteSize, bytes: number): boolean {
    if (grows && this.isNearlyFull()) return false
    return this.#freeBytes - bytes >= (grows ? this.freeBytesMin / 2 : diskBytesLeftMin)
  }

  #measureAll(): void {
    this.#measure()
    try {
      this.#trees = this.#readTrees()
    } catch {
      // A commit has failed: no read succeeds any more, and the process is ending.
    }
  }

  #measure(): void {
    try {
      const { bavail, bsize } = statfsSync(this.#directory)
      this.#freeBytes = bavail * bsize
    } catch {
      this.#freeBytes = 0
    }
    this.#unmeasuredBytes = this.#reservedBytes
  }
}
