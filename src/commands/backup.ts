/**
 * `topicd backup FILE`: a consistent, compacted and checked copy of everything, while the service runs or while it does not.
 */
import { resolve } from 'node:path'
import { parseCommandLine, UsageError } from '../config.js'
import type { BackupLine, BackupOptions } from '../ops/backup.js'
import { createProgress } from './progress.js'
import { runTool } from './session.js'
import { whereOf, whereSettings } from './where.js'

export const backupHelp = `topicd backup FILE [--data DIR]
    copies everything, API keys included, into one file that must not exist, and checks the copy; the running service's
    process writes it, so that it must be able to`

export async function runBackup(args: readonly string[]): Promise<void> {
  const { values, rest } = parseCommandLine(args, whereSettings)
  const [file, ...more] = rest
  if (file === undefined) throw new UsageError('the backup\'s FILE is missing')
  if (more.length > 0) throw new UsageError(`"${more[0]}" is one argument too many (see topicd --help)`)
  const options: BackupOptions = { file: resolve(file) }
  const progress = createProgress()
  await runTool(whereOf(values), 'backup', options, (line) => {
    if (progress.take(line)) return
    progress.end()
    const { records, bytes } = (JSON.parse(line) as BackupLine).backup
    process.stdout.write(`${options.file}: ${bytes} bytes, ${records} records checked\n`)
  }).finally(progress.end)
}
