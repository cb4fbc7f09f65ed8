/** `topicd export`: all topics, or the matches of a selector, as lines of JSON on standard output. */
import { planSelector } from '../../selectors/planner.js'
import type { ExportOptions } from '../../tools/tool-messages.js'
import { command, storeSettings } from '../command.js'
import { print } from '../stdout.js'
import { runTool } from './store-client.js'

/** Lines are written in chunks: single lines would cost a system call each. */
const chunkCharacters = 64 * 1024

export const exportTopics = command({
  summary: 'writes topics to standard output, one line of JSON each',
  details: 'The topics are in tree order and from one snapshot. A last line marks the export as complete.',
  operands: [],
  settings: storeSettings,
  flags: {
    selector: {
      kind: 'text',
      value: 'SELECTOR',
      default: '',
      help: 'topics to export; all by default',
      parse(text: string) {
        const plan = planSelector(text)
        return 'problem' in plan ? plan : text
      },
    },
    'with-keys': { kind: 'switch', default: 'false', help: 'include API keys, as hashes' },
  },
  async run({ settings, flags }) {
    const options: ExportOptions = { selector: flags.selector, withKeys: flags['with-keys'] }
    let text = ''
    async function flush(): Promise<void> {
      const chunk = text
      text = ''
      if (chunk !== '') await print(chunk)
    }
    await runTool(settings, { tool: 'export', options }, (line) => {
      text += `${line}\n`
      return text.length < chunkCharacters ? undefined : flush()
    }).finally(flush)
  },
})
