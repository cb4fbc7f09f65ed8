/**
 * `topicd check`: prints every broken invariant of the stored data, and ends with 1 if there is any.
 */
import { parseCommandLine, UsageError } from '../config.js'
import { exitCodes } from '../exit-codes.js'
import type { CheckLine } from '../ops/check.js'
import { createProgress } from './progress.js'
import { runTool } from './session.js'
import { whereOf, whereSettings } from './where.js'

export const checkHelp = `topicd check [--data DIR] [--store ADDRESS]
    walks everything that is stored and reports every broken invariant; ends with 1 if there is any`

export async function runCheck(args: readonly string[]): Promise<void> {
  const { values, rest } = parseCommandLine(args, whereSettings)
  if (rest.length > 0) throw new UsageError(`"${rest[0]}" is one argument too many (see topicd --help)`)
  const progress = createProgress()
  await runTool(whereOf(values), 'check', {}, (text) => {
    if (progress.take(text)) return
    progress.end()
    const line = JSON.parse(text) as CheckLine
    if ('finding' in line) process.stdout.write(`${line.finding}\n`)
    else {
      const { records, findings } = line.checked
      process.stdout.write(`${records} records checked, ${findings} findings\n`)
      if (findings > 0) process.exitCode = exitCodes.failed
    }
  }).finally(progress.end)
}
