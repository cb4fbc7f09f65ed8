/**
 * The files of `topicd backup --into DIR`: their names, and the deletion of old ones. A backup deletes only files with an
 * earlier name than its own, so two concurrent backups never delete each other's file, and files with later names are
 * kept if the clock was set back. Nothing is deleted until the new file is complete.
 */
import { lstatSync, readdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { complain } from '../../base/stderr.js'

const namePattern = /^topicd-\d{8}T\d{6}Z\.mdb$/

/** The name of a backup until it is complete. */
const partialPattern = /^topicd-\d{8}T\d{6}Z\.mdb\.partial$/

/** Sorting the names sorts the backups by time. */
export function backupName(time: Date): string {
  return `topicd-${time.toISOString().replace(/[-:]|\.\d+/g, '')}.mdb`
}

/**
 * Deletes the oldest backups next to `newest` until `keep` of them are left, including `newest`.
 *
 * @returns a line for the user about the kept and deleted files
 * @throws Error if a file cannot be deleted
 */
export function deleteOldBackups(newest: string, keep: number): string {
  const directory = dirname(newest)
  const names = readdirSync(directory)
  for (const name of names.filter((each) => partialPattern.test(each))) {
    complain(`${join(directory, name)} belongs to a backup that is running or was killed; if it was killed, delete it`)
  }
  const earlier = names
    .filter((name) => namePattern.test(name) && name < basename(newest) && isFile(join(directory, name)))
    .sort()
  const old = earlier.slice(0, Math.max(0, earlier.length - (keep - 1)))
  // Another backup may have deleted it in the meantime.
  for (const name of old) rmSync(join(directory, name), { force: true })
  const deleted = old.length === 0 ? 'none deleted' : `deleted ${old.join(', ')}`
  return `${earlier.length - old.length + 1} kept in ${directory}, ${deleted}\n`
}

function isFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true
}
