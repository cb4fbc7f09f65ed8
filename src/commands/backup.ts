/**
 * `topicd backup FILE`: a consistent, compacted and checked copy of everything, whether the service runs or not.
 */
import { statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { backupIn } from '../cluster/control-protocol.js'
import { readConfig } from '../config.js'
import { complain } from '../exit-codes.js'
import { directoryId } from '../tools/backup.js'
import type { BackupOptions } from '../tools/tool-messages.js'
import { type Command, storeSettings } from './command.js'
import { createProgress } from './progress.js'
import { print } from './stdout.js'
import { runTool } from './store-client.js'

export const backup: Command = {
  summary: 'copies everything into one file, and checks the copy',
  details:
    'API keys are included. FILE must not exist. If the service runs, it writes the file, so its account needs the right to.',
  operands: ['FILE'],
  settings: storeSettings,
  flags: {},
  async run({ settings, operand }) {
    const options = optionsOf(resolve(operand('FILE')))
    const progress = createProgress()
    await runTool(readConfig(settings), { command: 'tool', tool: 'backup', options }, (line) => {
      if (progress.take(line)) return undefined
      progress.end()
      const { records, bytes, unnoted } = backupIn(line)
      if (sizeOf(options.file) !== bytes)
        throw new Error(`the backup was made, but it is not at ${options.file} as seen from here`)
      if (unnoted !== undefined) complain(`the backup is whole, but the store could not note its time: ${unnoted}`)
      return print(`${options.file}: ${bytes} bytes, ${records} records checked\n`)
    }).finally(progress.end)
  },
}

function optionsOf(file: string): BackupOptions {
  try {
    return { file, directory: directoryId(dirname(file)) }
  } catch (error) {
    throw new Error(`there is no directory ${dirname(file)} that can be seen from here: ${(error as Error).message}`)
  }
}

function sizeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.size
}
