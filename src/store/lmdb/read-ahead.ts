/**
 * Whether a store finds room in the memory, on which it depends whether the system should read ahead for requests. lmdb
 * maps the file: a page that is not in memory is read from the disk when it is touched, and the system reads what follows
 * it, too, 128 KiB by default, and several MiB on striped and on some virtual disks.
 *
 * That is right for whoever reads the file in order, and while all of it finds room. But requests touch a page here and
 * there: what is read ahead for one of them displaces what others need, and the disk is soon busy with nothing else.
 */
import { totalmem } from 'node:os'

/** The processes themselves need the rest. */
const memoryShareMax = 0.75

/**
 * Whether a file of this size can stay in the system's cache.
 *
 * @param memoryBytes of the machine, or what the control group of this process may use, cached pages included
 */
export function fitsInMemory(fileBytes: number, memoryBytes: number = memoryBytesMax()): boolean {
  return fileBytes <= memoryShareMax * memoryBytes
}

function memoryBytesMax(): number {
  // No limit is zero, undefined or more than the machine has, depending on the version of Node.js and the kernel's.
  return Math.min(totalmem(), process.constrainedMemory() || Infinity)
}
