/**
 * What typia generates from the types of this folder: the validators of the lines of an export, and of the lines that
 * tools send. What the tags in the comments of the types mean is said in api/validators.ts.
 */
import typia from 'typia'
import { type BodyShape, mismatch, validatorOf } from '../api/validators.js'
import type { EndLine, KeyLine, TopicLine } from './export-format.js'
import type { BackupLine, CheckLine, ImportedLine, ProgressLine } from './tool-messages.js'

/** The lines of an import. */
export const topicLineShape: BodyShape<TopicLine> = {
  validate: validatorOf(typia.createAssertEquals<TopicLine>(mismatch)),
  names: typia.misc.literals<keyof TopicLine>(),
}
export const keyLineShape: BodyShape<KeyLine> = {
  validate: validatorOf(typia.createAssertEquals<KeyLine>(mismatch)),
  names: typia.misc.literals<keyof KeyLine['key']>().map((name) => `key.${name}`),
  isNested: true,
}
export const endLineShape: BodyShape<EndLine> = {
  validate: validatorOf(typia.createAssertEquals<EndLine>(mismatch)),
  names: typia.misc.literals<keyof EndLine['end']>().map((name) => `end.${name}`),
  isNested: true,
}

/** What a tool sends its caller. */
export const isBackupLine: (input: unknown) => input is BackupLine = typia.createIs<BackupLine>()
export const isCheckLine: (input: unknown) => input is CheckLine = typia.createIs<CheckLine>()
export const isImportedLine: (input: unknown) => input is ImportedLine = typia.createIs<ImportedLine>()
export const isProgressLine: (input: unknown) => input is ProgressLine = typia.createIs<ProgressLine>()
