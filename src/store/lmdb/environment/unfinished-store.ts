/**
 * The creation of a store, which a crash or a failing disk may break off before lmdb's first commit. What is left then
 * looks like a damaged store. So a mark beside the file, from before it is made until its first commit is on disk, says
 * that nothing was ever stored in it, and the next start may begin again. What the file has is not examined here.
 */
import { closeSync, existsSync, openSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { flush } from './files.js'

function markOf(file: string): string {
  return join(dirname(file), 'new')
}

/** Whether the creation of this data file was begun, and not completed. */
export function isUnfinished(file: string): boolean {
  return existsSync(markOf(file))
}

/** Makes the mark, on disk, for a data file that does not exist yet. */
export function beginCreation(file: string): void {
  closeSync(openSync(markOf(file), 'w', 0o600))
  flush(dirname(file))
}

/** Removes the mark, on disk: from now on the file may have what was acknowledged. */
export function endCreation(file: string): void {
  rmSync(markOf(file))
  flush(dirname(file))
}
