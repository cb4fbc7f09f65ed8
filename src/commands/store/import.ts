/** `topicd import`: topics and, on request, API keys from lines of JSON on standard input. */
import { fstatSync, readSync } from 'node:fs'
import { toolLine } from '../../cluster/control/protocol.js'
import { unfinished, unfinishedAdvice } from '../../tools/export-end.js'
import { isEndLine } from '../../tools/import-line.js'
import type { ImportOptions } from '../../tools/tool-messages.js'
import { isImportedLine } from '../../tools/validators.js'
import { allowUnfinished, command, storeSettings } from '../command.js'
import type { Progress } from '../progress.js'
import { print } from '../stdout.js'
import { runTool } from './store-client.js'

export const importTopics = command({
  summary: 'creates and updates topics from an export',
  details:
    'It reads standard input. Importing a line again changes nothing. If a line is invalid or the export is truncated, the import reports that and exits with status 1.',
  operands: [],
  settings: [...storeSettings, 'changes-kept'],
  flags: {
    'from-line': { kind: 'number', default: '1', min: 1, max: Number.MAX_SAFE_INTEGER, help: 'first line to import' },
    'with-keys': { kind: 'switch', default: 'false', help: 'import API keys as well' },
    'allow-unfinished': allowUnfinished,
  },
  async run({ settings, flags }) {
    const options: ImportOptions = {
      fromLine: flags['from-line'],
      withKeys: flags['with-keys'],
      ...(flags['allow-unfinished'] ? { allowUnfinished: true } : {}),
    }
    const input = fstatSync(0)
    // Node.js would read a directory as empty input.
    if (input.isDirectory()) throw new Error('standard input is a directory')
    if (input.isFile() && !flags['allow-unfinished'] && !endsWithEndLine(0, input.size)) {
      throw new Error(`nothing was imported: standard input ${unfinished}; ${unfinishedAdvice}`)
    }
    const onLine = (line: string, progress: Progress): Promise<void> => {
      progress.end()
      const { topics, created, keys, keysLeftOut } = toolLine(line, isImportedLine).imported
      const left = keysLeftOut === 0 ? '' : `; ${keysLeftOut} API keys left out (see --with-keys)`
      return print(`${topics} topics imported, ${created} of them new; ${keys} API keys imported${left}\n`)
    }
    const size = input.isFile() ? input.size : undefined
    await runTool(settings, { tool: 'import', options }, onLine, process.stdin, size)
  },
})

/** Bytes to read from the end of the file: far more than the end line and a few blank lines. */
const endBytesMax = 4096

/** Whether the last non-blank line of an open file is the end of an export. The file's position stays unchanged. */
function endsWithEndLine(descriptor: number, size: number): boolean {
  const from = Math.max(0, size - endBytesMax)
  const tail = Buffer.alloc(size - from)
  const read = readSync(descriptor, tail, 0, tail.length, from)
  const [last = ''] = tail.subarray(0, read).toString('latin1').trimEnd().split('\n').slice(-1)
  return isEndLine(Buffer.from(last, 'latin1'))
}
