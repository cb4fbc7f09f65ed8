/**
 * Where an lmdb store is, and how its files reach the disk, for code that must know this without loading lmdb.
 */
import { closeSync, fsyncSync, openSync } from 'node:fs'
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

/** Waits until a file, or the names in a directory, are on disk. */
export function flush(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
