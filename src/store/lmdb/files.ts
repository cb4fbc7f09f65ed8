/**
 * Where an lmdb store is, for code that must know this without loading lmdb.
 */
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
