/**
 * The tool behind `topicd backup`: a consistent, compacted and checked copy of everything, as one file. The engine makes it.
 */
import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { BackupDone } from '../store/store.js'
import { createReport } from './progress.js'
import type { Tool } from './tool.js'

export interface BackupOptions {
  /** The file to write: an absolute path that does not exist yet. */
  readonly file: string
  /** The directory of the file, as the caller sees it. */
  readonly directory: DirectoryId
}

/** Distinguishes two directories that have the same path in two mount namespaces. */
interface DirectoryId {
  readonly device: string
  readonly inode: string
}

/** @throws Error when there is none */
export function directoryId(directory: string): DirectoryId {
  const { dev, ino } = statSync(directory, { bigint: true })
  return { device: String(dev), inode: String(ino) }
}

/** The last line of a backup's answer. */
export interface BackupLine {
  readonly backup: BackupDone
}

export const backupTool: Tool = async (store, options, io) => {
  const { file, directory } = options as BackupOptions
  if (store.backup === undefined) throw new Error('this store has tools of its own for backups, such as pg_dump')
  if (!isSame(dirname(file), directory)) {
    throw new Error(
      `the service sees another directory at ${dirname(file)} than you do, as with PrivateTmp=yes or ProtectHome=yes in its unit: ` +
        'the file would be lost; choose one that both see and the service may write to, such as /var/lib/topicd-backups under the unit',
    )
  }
  const backup = await store.backup(file, io.diskFreeBytesMin, createReport(io))
  await io.emit(JSON.stringify({ backup } satisfies BackupLine))
}

function isSame(path: string, { device, inode }: DirectoryId): boolean {
  try {
    const seen = directoryId(path)
    return seen.device === device && seen.inode === inode
  } catch {
    return false
  }
}
