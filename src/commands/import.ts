/**
 * `topicd import`: topics, and API keys on request, from lines of JSON on standard input.
 */
import { fstatSync } from 'node:fs'
import { parseCommandLine, UsageError } from '../config.js'
import type { ImportedLine, ImportOptions } from '../ops/import.js'
import { createProgress } from './progress.js'
import { runTool } from './session.js'
import { whereOf, whereSettings } from './where.js'

const settings = {
  ...whereSettings,
  'from-line': { kind: 'number', default: '1', min: 1, max: Number.MAX_SAFE_INTEGER, help: 'first line to import' },
  'with-keys': { kind: 'switch', default: 'false', help: 'API keys as well' },
} as const

export const importHelp = `topicd import [--from-line N] [--with-keys] [--data DIR] [--store ADDRESS] < FILE
    adds and sets what the lines of an export say; importing a line again changes nothing. A wrong line is named, with
    what is wrong, and ends the import with 1`

export async function runImport(args: readonly string[]): Promise<void> {
  const { values, rest } = parseCommandLine(args, settings)
  if (rest.length > 0) throw new UsageError(`"${rest[0]}" is one argument too many (see topicd --help)`)
  const from = values['from-line'] ?? '1'
  if (!/^[1-9]\d{0,14}$/.test(from)) throw new UsageError(`--from-line is ${JSON.stringify(from)}; it must be a line's number, from 1`)
  const options: ImportOptions = { fromLine: Number(from), withKeys: values['with-keys'] === 'true' }
  const input = fstatSync(0)
  const progress = createProgress(input.isFile() ? input.size : undefined)
  const onLine = (line: string): void => {
    if (progress.take(line)) return
    progress.end()
    const { topics, created, keys, keysLeftOut } = (JSON.parse(line) as ImportedLine).imported
    const left = keysLeftOut === 0 ? '' : `; ${keysLeftOut} API keys left out (see --with-keys)`
    process.stdout.write(`${topics} topics imported, ${created} of them new; ${keys} API keys imported${left}\n`)
  }
  await runTool(whereOf(values), 'import', options, onLine, process.stdin).finally(progress.end)
}
