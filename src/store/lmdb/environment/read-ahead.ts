/**
 * Whether requests should do without the system's read-ahead. lmdb maps the store's file: a page that is not in memory
 * is read from the disk when it is touched, and the system reads its neighbours, too. How many is a property of the
 * disk: 128 KiB by default, several MiB where disks are striped, on Btrfs and on some virtual disks.
 *
 * The default serves pages of results and large values well. But a request touches a page here and there; if the file
 * does not fit in memory, several MiB for each displace what other requests need, and the disk does nothing else. An
 * environment can only have all of the disk's read-ahead or none. None has a price, too: a page of 1,000 results or a
 * value of 1 MiB is read 4 KiB at a time, and since Linux 6.3 a touch no longer keeps a page in memory longer.
 */
import { readFileSync, type Stats, statSync } from 'node:fs'
import { totalmem } from 'node:os'

/** The processes themselves need the rest of the memory. */
const memoryShareMax = 0.75

/** Linux's default (`VM_READAHEAD_PAGES`). */
const readAheadBytesMax = 128 * 1024

interface Circumstances {
  readonly fileBytes: number
  /** Of the machine, or what the process's control group may use, cached pages included. */
  readonly memoryBytes: number
  /** Read by the system from the file's disk for a page. */
  readonly readAheadBytes: number
}

export function isReadAheadHarmful({ fileBytes, memoryBytes, readAheadBytes }: Circumstances): boolean {
  return fileBytes > memoryShareMax * memoryBytes && readAheadBytes > readAheadBytesMax
}

/** A file that does not exist is empty. */
export function circumstancesOf(file: string): Circumstances {
  const stats = statSync(file, { throwIfNoEntry: false })
  return {
    fileBytes: stats?.size ?? 0,
    // Without a limit it is zero, or more than the machine has. Limits of enclosing groups are not known here.
    memoryBytes: Math.min(totalmem(), process.constrainedMemory() || Infinity),
    readAheadBytes: stats === undefined ? 0 : readAheadOf(stats),
  }
}

/** Of the file's disk; infinite if it is not known, as for Btrfs and ZFS. */
function readAheadOf({ dev }: Stats): number {
  // As glibc's gnu_dev_major and gnu_dev_minor; device numbers of Linux have 12 and 20 bits.
  const device = `${(dev >>> 8) & 0xfff}:${(dev & 0xff) | ((dev >>> 12) & 0xfff00)}`
  // A partition has no queue of its own.
  for (const disk of [device, `${device}/..`]) {
    try {
      return Number(readFileSync(`/sys/dev/block/${disk}/queue/read_ahead_kb`, 'utf8')) * 1024
    } catch {}
  }
  return Infinity
}
