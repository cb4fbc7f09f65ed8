/**
 * Root's rights are given up for those of the account that owns a data directory, for good: files that root makes there
 * would keep the service from opening its store, and what that account has put there, such as a link to another file,
 * must not be followed with root's rights.
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
