/**
 * `topicd check`: prints every broken invariant of the stored data, and ends with 1 if there is any.
 */
import { checkLineIn } from '../cluster/control-protocol.js'
import { readConfig } from '../config.js'
import { exitCodes } from '../exit-codes.js'
import type { CheckLine } from '../tools/tool-messages.js'
import { type Command, storeSettings } from './command.js'
import { createProgress } from './progress.js'
import { OutputClosed, print } from './stdout.js'
import { runTool } from './store-client.js'

export const check: Command = {
  summary: 'walks everything that is stored and reports what is broken',
  details: 'It ends with 1 if anything is.',
  operands: [],
  settings: storeSettings,
  flags: {
    json: { kind: 'switch', default: 'false', help: 'print a line of JSON for each finding, and one for the totals' },
  },
  async run({ settings, flags }) {
    const progress = createProgress()
    await runTool(readConfig(settings), { command: 'tool', tool: 'check', options: {} }, (text) => {
      if (progress.take(text)) return undefined
      progress.end()
      const line = checkLineIn(text)
      if ('checked' in line && line.checked.findings > 0) process.exitCode = exitCodes.failed
      return print(`${flags.json === 'true' ? text : sentence(line)}\n`).catch(refuseClosed)
    }).finally(progress.end)
  },
}

/** A reader such as `head` may have read enough, but an interrupted check has not shown that the store is sound. */
function refuseClosed(error: Error): never {
  throw error instanceof OutputClosed ? new Error('nobody reads standard output; the check was broken off') : error
}

function sentence(line: CheckLine): string {
  if ('finding' in line) return line.finding
  return `${line.checked.records} records checked, ${line.checked.findings} findings`
}
