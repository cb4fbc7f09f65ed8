/**
 * Free space of the data directory's file system. A full disk ends an LMDB process hard, in the middle of whatever it does,
 * so writes that add bytes are refused well before.
 */
import { statfs } from 'node:fs/promises'

export interface DiskWatch {
  /** Free space, in bytes, as of the last look. */
  readonly freeBytes: () => number
  readonly nearlyFull: () => boolean
  close(): void
}

/** Between two looks: at 200 MB/s, the default low-water mark is ten looks away. */
const lookMs = 100

/** Looks once, then goes on looking; `nearlyFull` is true while less than `freeBytesMin` is free. */
export async function watchDisk(directory: string, freeBytesMin: number): Promise<DiskWatch> {
  let free = 0
  async function look(): Promise<void> {
    const { bavail, bsize } = await statfs(directory)
    free = bavail * bsize
  }
  await look()
  const timer = setInterval(() => void look().catch(() => (free = 0)), lookMs)
  timer.unref()
  return { freeBytes: () => free, nearlyFull: () => free < freeBytesMin, close: () => clearInterval(timer) }
}
