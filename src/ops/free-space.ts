/**
 * Free space of the data directory's file system. A full disk kills a process that uses LMDB at any point of its work,
 * so writes that add bytes are refused well before.
 *
 * statfs lags, so bytes accepted in the last two intervals count as used, times the number of workers: each process
 * counts only what it accepted itself.
 */
import { statfs } from 'node:fs/promises'

export interface DiskWatch {
  /** Free space in bytes, as last measured. */
  readonly freeBytes: () => number
  /** With less free space than this, in bytes, writes that add bytes are refused. */
  readonly freeBytesMin: number
  /** Whether less than `freeBytesMin` is free, or will be once the accepted writes are on disk. */
  readonly isNearlyFull: () => boolean
  /**
   * Counts a write with this many bytes of body as accepted. False, with nothing counted, when the disk is nearly full.
   */
  readonly tryReserve: (bodyBytes: number) => boolean
  close(): void
}

/** Between two measurements. */
const intervalMs = 100

/** A write stores its value in whole pages, and rewrites the pages above them in the tree. */
const bytesPerBodyByte = 2
const bytesPerWrite = 8192

/**
 * Measures once, then goes on measuring until it is closed. While the free space cannot be measured, it counts as none.
 *
 * @param writers how many processes like this one write to the file system
 * @param waitingBytes bodies, in bytes, that this process holds for writes in flight
 */
export async function watchDisk(
  directory: string,
  freeBytesMin: number,
  writers = 1,
  waitingBytes: () => number = () => 0,
): Promise<DiskWatch> {
  let free = 0
  /** Bytes accepted since the last measurement, and in the interval before it. */
  let recent = 0
  let earlier = 0

  async function measure(): Promise<void> {
    const { bavail, bsize } = await statfs(directory)
    free = bavail * bsize
    earlier = recent
    recent = 0
  }

  function isNearlyFull(): boolean {
    const accepted = recent + earlier + bytesPerBodyByte * waitingBytes()
    return free - writers * accepted < freeBytesMin
  }

  function tryReserve(bodyBytes: number): boolean {
    if (isNearlyFull()) return false
    recent += bytesPerBodyByte * bodyBytes + bytesPerWrite
    return true
  }

  await measure()
  const timer = setInterval(() => void measure().catch(() => (free = 0)), intervalMs)
  timer.unref()
  return { freeBytes: () => free, freeBytesMin, isNearlyFull, tryReserve, close: () => clearInterval(timer) }
}
