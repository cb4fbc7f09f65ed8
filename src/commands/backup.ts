/**
 * `topicd backup FILE`: a consistent, compacted and checked copy of everything, while the service runs or while it does not.
 */
import { resolve } from 'node:path'
import { readConfig } from '../config.js'
import type { BackupLine, BackupOptions } from '../ops/backup.js'
import { type Command, storeSettings } from './command.js'
import { createProgress } from './progress.js'
import { runTool } from './session.js'
import { print } from './stdout.js'

export const backup: Command = {
  summary: 'copies everything into one file, and checks the copy',
  details: `API keys are included. FILE must not exist. The running service's process writes it, so that it must be able to.`,
  operands: ['FILE'],
  settings: storeSettings,
  flags: {},
  async run({ settings, operands: [file] }) {
    const options: BackupOptions = { file: resolve(file) }
    const progress = createProgress()
    await runTool(readConfig(settings), 'backup', options, (line) => {
      if (progress.take(line)) return undefined
      progress.end()
      const { records, bytes } = (JSON.parse(line) as BackupLine).backup
      return print(`${options.file}: ${bytes} bytes, ${records} records checked\n`)
    }).finally(progress.end)
  },
}
