/**
 * Free space of the data directory's file system. A full disk ends an LMDB process hard, in the middle of whatever it does,
 * so writes that add bytes are refused well before. What was let through shows in the free space only later: it is counted
 * here until it must have shown, for every process alike, since each knows only of itself.
 */
import { statfs } from 'node:fs/promises'

export interface DiskWatch {
  /** Free space, in bytes, as of the last look. */
  readonly freeBytes: () => number
  /** The mark: with less, writes that add bytes are refused. */
  readonly freeBytesMin: number
  /** Whether there is no room for one more write; if there is, a write with a body of `bodyBytes` is taken to follow. */
  readonly nearlyFull: (bodyBytes?: number) => boolean
  close(): void
}

/** Between two looks. */
const lookMs = 100

/** What a write takes on disk: its value in whole pages and a page above it, each written anew. */
const bytesPerBodyByte = 2
const bytesPerWrite = 8192

/**
 * Looks once, then goes on looking; `nearlyFull` is true while less than `freeBytesMin` is free or would be soon.
 *
 * @param writers how many processes like this one write to it
 * @param waitingBytes bodies of writes that are under way in this process
 */
export async function watchDisk(
  directory: string,
  freeBytesMin: number,
  writers = 1,
  waitingBytes: () => number = () => 0,
): Promise<DiskWatch> {
  let free = 0
  /** Let through since the last look, and between that one and the one before. */
  let recent = 0
  let earlier = 0
  async function look(): Promise<void> {
    const { bavail, bsize } = await statfs(directory)
    free = bavail * bsize
    earlier = recent
    recent = 0
  }
  function nearlyFull(bodyBytes = 0): boolean {
    const underWay = recent + earlier + bytesPerBodyByte * waitingBytes()
    if (free - writers * underWay < freeBytesMin) return true
    if (bodyBytes > 0) recent += bytesPerBodyByte * bodyBytes + bytesPerWrite
    return false
  }
  await look()
  const timer = setInterval(() => void look().catch(() => (free = 0)), lookMs)
  timer.unref()
  return { freeBytes: () => free, freeBytesMin, nearlyFull, close: () => clearInterval(timer) }
}
