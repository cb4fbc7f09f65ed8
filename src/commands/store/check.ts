/** `topicd check`: prints every broken invariant of the stored data, and exits with status 1 if there is any. */
import { createReadStream, statSync } from 'node:fs'
import { exitCodes } from '../../base/exit-codes.js'
import { toolLine } from '../../cluster/control/protocol.js'
import { UsageError } from '../../settings/config.js'
import { checkExport } from '../../tools/check-export.js'
import type { CheckLine } from '../../tools/tool-messages.js'
import { isCheckLine } from '../../tools/validators.js'
import { allowUnfinished, command, storeSettings } from '../command.js'
import { OutputClosed, print } from '../stdout.js'
import { runTool } from './store-client.js'

export const check = command({
  summary: 'checks the whole store and reports damage',
  details:
    'If FILE, an export, is given, it checks that file instead: each line must be valid, and none may be missing. If anything is damaged, it exits with status 1.',
  operands: ['FILE'],
  operandsOptional: true,
  settings: storeSettings,
  flags: {
    json: { kind: 'switch', default: 'false', help: 'print one line of JSON per finding and one for the totals' },
    'allow-unfinished': allowUnfinished,
  },
  async run({ settings, flags, operand }) {
    const show = (line: CheckLine): Promise<void> => {
      if ('checked' in line && line.checked.findings > 0) process.exitCode = exitCodes.failed
      return print(`${flags.json ? JSON.stringify(line) : sentence(line)}\n`).catch(refuseClosed)
    }
    const file = operand('FILE')
    if (file !== '') return checkFile(file, flags['allow-unfinished'], show)
    if (flags['allow-unfinished']) throw new UsageError('--allow-unfinished needs FILE')
    await runTool(settings, { tool: 'check', options: {} }, (text, progress) => {
      progress.end()
      return show(toolLine(text, isCheckLine))
    })
  },
})

async function checkFile(
  file: string,
  allowsUnfinished: boolean,
  show: (line: CheckLine) => Promise<void>,
): Promise<void> {
  if (statSync(file).isDirectory())
    throw new UsageError(`${file} is a directory, but FILE must be an export; --data ${file} checks a store`)
  let findings = 0
  const records = await checkExport(createReadStream(file), allowsUnfinished, (finding) => {
    findings++
    return show({ finding })
  })
  await show({ checked: { records, findings } })
}

/** A reader such as `head` may have read enough, but an interrupted check does not prove that the store is sound. */
function refuseClosed(error: Error): never {
  throw error instanceof OutputClosed ? new Error('the check was interrupted because standard output is closed') : error
}

function sentence(line: CheckLine): string {
  if ('finding' in line) return line.finding
  const { findings } = line.checked
  return `checked, ${findings === 1 ? '1 finding' : `${findings} findings`}`
}
