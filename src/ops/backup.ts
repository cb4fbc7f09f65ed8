/**
 * The tool behind `topicd backup`: a consistent, compacted and checked copy of everything, as one file. How it is made is the
 * engine's to know.
 */
import { createReport } from './progress.js'
import type { Tool } from './tool.js'

export interface BackupOptions {
  /** Where the copy goes: an absolute path at which there is nothing yet. */
  readonly file: string
}

/** The last line of a backup's answer. */
export interface BackupLine {
  readonly backup: { readonly records: number; readonly bytes: number }
}

export const backupTool: Tool = async (store, options, io) => {
  const { file } = options as BackupOptions
  if (store.backup === undefined) throw new Error('this store has tools of its own for backups, such as pg_dump')
  const backup = await store.backup(file, io.diskFreeBytesMin, createReport(io))
  await io.emit(JSON.stringify({ backup } satisfies BackupLine))
}
