/**
 * The code that typia generates from the types in this folder: the schemas of the lines of an export, and validators for
 * the lines that tools send. api/bodies/bodies.ts explains the tags in the comments of the types.
 */
import typia from 'typia'
import type { EndLine, KeyLine, TopicLine } from './export-format.js'
import type { BackupLine, CheckLine, ImportedLine, MovedLine, ProgressLine } from './tool-messages.js'

export const lineSchemas = {
  topic: typia.json.schemas<[TopicLine], '3.1'>(),
  key: typia.json.schemas<[KeyLine], '3.1'>(),
  end: typia.json.schemas<[EndLine], '3.1'>(),
}

/** Validators for the lines that a tool sends to its caller. */
export const isBackupLine: (input: unknown) => input is BackupLine = typia.createIs<BackupLine>()
export const isCheckLine: (input: unknown) => input is CheckLine = typia.createIs<CheckLine>()
export const isImportedLine: (input: unknown) => input is ImportedLine = typia.createIs<ImportedLine>()
export const isMovedLine: (input: unknown) => input is MovedLine = typia.createIs<MovedLine>()
export const isProgressLine: (input: unknown) => input is ProgressLine = typia.createIs<ProgressLine>()
