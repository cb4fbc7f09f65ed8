/**
 * `topicd export`: every topic, or those of a selector, as lines of JSON on standard output.
 */
import { once } from 'node:events'
import { parseCommandLine, UsageError } from '../config.js'
import { exitCodes } from '../exit-codes.js'
import type { ExportOptions } from '../ops/export.js'
import { createProgress } from './progress.js'
import { runTool } from './session.js'
import { whereOf, whereSettings } from './where.js'

const settings = {
  ...whereSettings,
  selector: { kind: 'text', default: '', help: 'topics to export; all when absent' },
  'with-keys': { kind: 'switch', default: 'false', help: 'API keys as well' },
} as const

export const exportHelp = `topicd export [--selector SELECTOR] [--with-keys] [--data DIR] [--store ADDRESS] > FILE
    one line of JSON a topic, in tree order, from one moment; with --with-keys API keys too, as hashes`

/** Lines are written together: one at a time would be a system call each. */
const chunkCharacters = 64 * 1024

export async function runExport(args: readonly string[]): Promise<void> {
  const { values, rest } = parseCommandLine(args, settings)
  if (rest.length > 0) throw new UsageError(`"${rest[0]}" is one argument too many (see topicd --help)`)
  const options: ExportOptions = { selector: values.selector, withKeys: values['with-keys'] === 'true' }
  // A reader that has gone, such as head, has what it wanted.
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? exitCodes.done : exitCodes.failed))
  const progress = createProgress()
  let text = ''
  async function flush(): Promise<void> {
    const chunk = text
    text = ''
    if (!process.stdout.write(chunk)) await once(process.stdout, 'drain')
  }
  await runTool(whereOf(values), 'export', options, (line) => {
    if (progress.take(line)) return
    text += `${line}\n`
    return text.length < chunkCharacters ? undefined : flush()
  }).finally(progress.end)
  await flush()
}
