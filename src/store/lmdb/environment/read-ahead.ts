/**
 * Decides whether requests avoid the system's read-ahead. lmdb maps the store's file: accessing a page that is not in memory reads
 * it from the disk, and the system also reads its neighbours. The amount depends on the disk: 128 KiB by default, several MiB on
 * striped disks, on Btrfs and on some virtual disks.
 *
 * The default serves pages of results and large values well. But most requests access scattered pages of the file. If the file does
 * not fit in memory, reading several MiB for each of these pages displaces the data of other requests and keeps the disk busy. An
 * environment can only have all of the disk's read-ahead or none. Having none also has a price: a page of 1,000 results or a value of
 * 1 MiB is read 4 KiB at a time. Also, since Linux 6.3, an access without read-ahead no longer extends a page's stay in memory.
 */
import { readFileSync, type Stats, statSync } from 'node:fs'
import { totalmem } from 'node:os'

/** The processes themselves need the rest of the memory. */
const memoryShareMax = 0.75

/** Linux's default (`VM_READAHEAD_PAGES`). */
const readAheadBytesMax = 128 * 1024

interface Circumstances {
  readonly fileBytes: number
  /** The memory of the machine, or the limit of the process's control group, which includes cached pages. */
  readonly memoryBytes: number
  /** Bytes that the system reads from the file's disk per page access. */
  readonly readAheadBytes: number
}

export function isReadAheadHarmful({ fileBytes, memoryBytes, readAheadBytes }: Circumstances): boolean {
  return fileBytes > memoryShareMax * memoryBytes && readAheadBytes > readAheadBytesMax
}

/** A missing file counts as empty. */
export function circumstancesOf(file: string): Circumstances {
  const stats = statSync(file, { throwIfNoEntry: false })
  return {
    fileBytes: stats?.size ?? 0,
    // If there is no limit, `constrainedMemory` returns zero, or more than the machine has. Limits of enclosing groups are unknown
    // here.
    memoryBytes: Math.min(totalmem(), process.constrainedMemory() || Infinity),
    readAheadBytes: stats === undefined ? 0 : readAheadOf(stats),
  }
}

/** The read-ahead of the file's disk; infinite if unknown, as for Btrfs and ZFS. */
function readAheadOf({ dev }: Stats): number {
  // Like glibc's gnu_dev_major and gnu_dev_minor; Linux device numbers have 12 and 20 bits.
  const device = `${(dev >>> 8) & 0xfff}:${(dev & 0xff) | ((dev >>> 12) & 0xfff00)}`
  // A partition has no separate queue.
  for (const disk of [device, `${device}/..`]) {
    try {
      return Number(readFileSync(`/sys/dev/block/${disk}/queue/read_ahead_kb`, 'utf8')) * 1024
    } catch {}
  }
  return Infinity
}
