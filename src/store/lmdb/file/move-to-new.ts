/** Gives a file a name that no other file has. */
import { existsSync, linkSync, renameSync, unlinkSync } from 'node:fs'

/** The error codes of a file system without hard links. */
const noLinkCodes: readonly (string | undefined)[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

/**
 * Moves a file within its file system with a link, which fails if the new name is taken; a rename would replace the other file.
 *
 * @returns false, with nothing changed, if there is a file with that name
 * @throws Error if it cannot be moved
 */
export function moveToNew(from: string, to: string): boolean {
  try {
    linkSync(from, to)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' || existsSync(to)) return false
    if (!noLinkCodes.includes(code)) throw error
    renameSync(from, to)
    return true
  }
  unlinkSync(from)
  return true
}
