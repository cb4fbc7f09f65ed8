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
