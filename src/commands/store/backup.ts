/**
 * `topicd backup FILE`: a consistent, compacted and checked copy of everything, whether the service is running or not. With
 * `--into DIR`, the file gets a generated name, and the oldest files are deleted afterwards.
 */
import { statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { complain } from '../../base/stderr.js'
import { toolLine } from '../../cluster/control/protocol.js'
import { UsageError } from '../../settings/config.js'
import { directoryId } from '../../tools/backup.js'
import type { BackupOptions } from '../../tools/tool-messages.js'
import { isBackupLine } from '../../tools/validators.js'
import { command, storeSettings } from '../command.js'
import { print } from '../stdout.js'
import { backupName, deleteOldBackups } from './backup-series.js'
import { runTool } from './store-client.js'

/** Maximum of `--keep`: ten years of daily backups, so a larger number is a typing mistake. */
const backupsKeptMax = 3660

/** A week of daily backups. */
const keptByDefault = 7

export const backup = command({
  summary: 'copies everything to one file and checks the copy',
  details:
    'API keys are included. FILE must not exist. If the service is running, it writes the file, so its account needs permission to do so.',
  operands: ['FILE'],
  operandsOptional: true,
  settings: storeSettings,
  flags: {
    into: {
      kind: 'text',
      value: 'DIR',
      default: '',
      help: 'instead of FILE: write DIR/topicd-TIME.mdb, then delete the oldest such files',
    },
    keep: {
      kind: 'number',
      default: '',
      min: 1,
      max: backupsKeptMax,
      help: `with --into: number of files to keep, including the new one; ${keptByDefault} by default`,
    },
  },
  async run({ settings, flags, operand }) {
    const { into, keep } = flags
    if (operand('FILE') === '' && into === undefined) throw new UsageError('FILE or --into DIR is missing')
    if (operand('FILE') !== '' && into !== undefined) throw new UsageError('FILE and --into cannot be used together')
    if (keep !== undefined && into === undefined) throw new UsageError('--keep is only used with --into')
    const file = into === undefined ? operand('FILE') : join(into, backupName(new Date()))
    const options = optionsOf(resolve(file))
    let done = ''
    await runTool(settings, { tool: 'backup', options }, (line, progress) => {
      progress.end()
      const { bytes, unnoted } = toolLine(line, isBackupLine).backup
      if (statSync(options.file, { throwIfNoEntry: false })?.size !== bytes)
        throw new Error(`the service wrote the backup, but ${options.file} is not visible to this command`)
      if (unnoted !== undefined) complain(`the backup is complete, but the store could not record its time: ${unnoted}`)
      done = `${options.file}: ${bytes} bytes, checked\n`
    })
    // Before printing, which fails if standard output is closed.
    if (into !== undefined) done += deleteOldBackups(options.file, keep ?? keptByDefault)
    await print(done)
  },
})

function optionsOf(file: string): BackupOptions {
  const directory = dirname(file)
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() === false)
    throw new Error(`${directory} is not a directory`)
  try {
    return { file, directory: directoryId(directory) }
  } catch (error) {
    throw new Error(`there is no directory ${directory} that this command can access: ${(error as Error).message}`)
  }
}
