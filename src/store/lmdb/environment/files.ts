/** Where an lmdb store is, how its files reach the disk, whether its creation was completed, without loading lmdb. */
import { closeSync, existsSync, fsyncSync, openSync, rmSync, statfsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The file that holds everything in a data directory; lmdb creates a lock file next to it whenever that is missing. */
export function dataFile(directory: string): string {
  return join(directory, 'topics', 'data.mdb')
}

/** Where a restore keeps its copy until it is checked: on the store's file system, not always that of `directory`. */
export function stagingDirectory(directory: string): string {
  return join(directory, 'topics', 'restore.partial')
}

/** @throws Error when the file system cannot be measured */
export function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize
}

/** @throws Error for a person, with `taken` in its message, when fewer than `bytes` plus `freeBytesMin` are free */
export function requireSpace(directory: string, bytes: number, freeBytesMin: number, taken = String(bytes)): void {
  const free = freeBytes(directory)
  if (free >= bytes + freeBytesMin) return
  throw new Error(`${directory} has ${free} bytes free; the backup takes ${taken}, and ${freeBytesMin} must stay free`)
}

/** Waits until a file, or the names in a directory, are on disk. */
export function flush(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * The mark of a store that is being created, which a crash or a failing disk may break off before lmdb's first commit. What is
 * left then looks like a damaged store. So a mark beside the file, from before it is made until its first commit is on disk,
 * says that nothing was ever stored in it, and the next start may begin again.
 */
function markOf(file: string): string {
  return join(dirname(file), 'new')
}

/** The creation of this data file was begun, and not completed. */
export function isUnfinished(file: string): boolean {
  return existsSync(markOf(file))
}

/** Puts the mark on disk, for a data file that does not exist yet. */
export function beginCreation(file: string): void {
  closeSync(openSync(markOf(file), 'w', 0o600))
  flush(dirname(file))
}

/** Removes the mark, on disk: from now on the file may have what was acknowledged. */
export function endCreation(file: string): void {
  rmSync(markOf(file))
  flush(dirname(file))
}
