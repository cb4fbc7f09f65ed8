/**
 * Where an lmdb store lies, for those who have to know without loading lmdb.
 */
import { join } from 'node:path'

/** The one file that holds everything in a data directory; lmdb keeps a lock file beside it, made anew whenever it is missing. */
export function dataFile(directory: string): string {
  return join(directory, 'topics', 'data.mdb')
}
