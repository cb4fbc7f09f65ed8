/**
 * Drops root's rights permanently for those of the owner of a data directory: files that root creates there would keep
 * the service from opening its store, and root must not follow links that the owner has put there.
 */
import { accessSync, constants, type Stats } from 'node:fs'

/**
 * If this process is root's, it continues as the owner of the data directory.
 *
 * @throws Error when that account cannot read the program
 */
export function becomeOwner({ uid, gid }: Stats, data: string): void {
  if (process.getuid?.() !== 0) return
  process.setgroups?.([gid])
  process.setgid?.(gid)
  process.setuid?.(uid)
  for (const program of [import.meta.filename, process.execPath]) {
    try {
      accessSync(program, constants.R_OK)
    } catch {
      throw new Error(`uid ${uid}, which owns ${data}, cannot read ${program}: install the program where it can`)
    }
  }
}
