/** Locates an lmdb store, flushes its files, and marks its creation as unfinished. Nothing here loads lmdb. */
import { closeSync, existsSync, fsyncSync, openSync, rmSync, statfsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The file that holds all data of a data directory; lmdb creates a missing lock file next to it. */
export function dataFile(directory: string): string {
  return join(directory, 'topics', 'data.mdb')
}

/**
 * The directory in which a restore keeps its copy until the copy is checked: on the store's file system, which may differ from that
 * of `directory`.
 */
export function stagingDirectory(directory: string): string {
  return join(directory, 'topics', 'restore.partial')
}

/** @throws Error if the file system cannot be measured */
export function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize
}

/** @throws Error for users, with `taken` in its message, if fewer than `bytes` plus `freeBytesMin` are free */
export function requireSpace(directory: string, bytes: number, freeBytesMin: number, taken = String(bytes)): void {
  const free = freeBytes(directory)
  if (free >= bytes + freeBytesMin) return
  throw new Error(`${directory} has ${free} bytes free; the backup needs ${taken}, and ${freeBytesMin} must stay free`)
}

/** Waits until a file, or a directory's list of names, is on disk. */
export function flush(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * The mark of a store that is being created. A crash or a failing disk may interrupt the creation before lmdb's first commit, and
 * the remains look like a damaged store. So a mark next to the file, from before its creation until its first commit is on disk,
 * shows that the file never held data, and the next start may create it again.
 */
function markOf(file: string): string {
  return join(dirname(file), 'new')
}

/** The creation of this data file was started, but not completed. */
export function isUnfinished(file: string): boolean {
  return existsSync(markOf(file))
}

/** Puts the mark on disk for a data file that does not exist yet. */
export function beginCreation(file: string): void {
  closeSync(openSync(markOf(file), 'w', 0o600))
  flush(dirname(file))
}

/** Removes the mark, and flushes the removal to disk: from now on, the file may hold acknowledged writes. */
export function endCreation(file: string): void {
  rmSync(markOf(file))
  flush(dirname(file))
}
