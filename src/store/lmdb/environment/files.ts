/**
 * Where an lmdb store is, and how its files reach the disk, for code that must know this without loading lmdb.
 */
import { closeSync, fsyncSync, openSync, statfsSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The one file that holds everything in a data directory; lmdb keeps a lock file beside it, and creates that whenever
 * it is missing.
 */
export function dataFile(directory: string): string {
  return join(directory, 'topics', 'data.mdb')
}

/**
 * Where a restore keeps its copy until it is checked: a data directory of its own, on the file system of the store,
 * which may be another one than that of `directory`.
 */
export function stagingDirectory(directory: string): string {
  return join(directory, 'topics', 'restore.partial')
}

/** The bytes that are free on the file system of a directory. @throws Error when it cannot be measured */
export function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize
}

/**
 * Requires room for a backup, or its copy.
 *
 * @param taken the bytes that it takes, as the message says them
 * @throws Error with a message for a person when fewer than `bytes` and `freeBytesMin` are free
 */
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
