/** The tool behind `topicd backup`: the engine writes a consistent, compacted and checked copy to one file. */
import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { StoreCopier } from '../store/maintenance.js'
import { createReport } from './progress.js'
import type { Tool } from './tool.js'
import type { BackupLine, BackupOptions, DirectoryId } from './tool-messages.js'

/** @throws Error if this process cannot access the directory */
export function directoryId(directory: string): DirectoryId {
  const { dev, ino } = statSync(directory, { bigint: true })
  return { device: String(dev), inode: String(ino) }
}

export const backupTool: Tool<BackupOptions, StoreCopier> = async (store, { file, directory }, io) => {
  if (store.backup === undefined)
    throw new Error('the store is PostgreSQL; back it up with its own tools, such as pg_dump')
  if (!isSame(dirname(file), directory)) {
    throw new Error(
      `the service sees a different directory at ${dirname(file)} than this command, for example because of PrivateTmp=yes or ProtectHome=yes in its unit: ` +
        'choose a directory that both see and the service can write to, such as /var/lib/topicd-backups with the unit',
    )
  }
  const backup = await store.backup(file, io.diskFreeBytesMin, createReport(io), io.signal)
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
