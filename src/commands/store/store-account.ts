/**
 * Permanently drops root privileges and becomes the owner of the data directory: files that root creates there would prevent the
 * service from opening its store, and root must not follow links that the owner created there.
 */
import { accessSync, constants, type Stats } from 'node:fs'

/**
 * A root process continues as the owner of the data directory; other processes stay as they are.
 *
 * @throws Error if that account cannot read the program
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
      throw new Error(
        `uid ${uid}, which owns ${data}, cannot read ${program}: install the program where that account can read it`,
      )
    }
  }
}
