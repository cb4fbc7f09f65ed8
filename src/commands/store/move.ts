/** `topicd copy OLD NEW` and `topicd rename OLD NEW`: copies or moves a subtree, through the running service or without one. */
import { toolLine } from '../../cluster/control/protocol.js'
import { UsageError } from '../../settings/config.js'
import { isMovedLine } from '../../tools/validators.js'
import { isWithin, type Path, parsePath } from '../../topics/path.js'
import { command, storeSettings } from '../command.js'
import { print } from '../stdout.js'
import { runTool } from './store-client.js'

const again = 'After an interruption, run the same command again to continue.'

export const copyTopics = moving(
  'copies the topics at and below OLD to NEW',
  `The copies are from one snapshot. ${again}`,
  false,
)

export const renameTopics = moving(
  'moves the topics at and below OLD to NEW',
  `Each topic is moved in one step. Stop its publishers first: a topic that changes in the meantime stays where it is. ${again}`,
  true,
)

function moving(summary: string, details: string, removes: boolean) {
  return command({
    summary,
    details,
    operands: ['OLD', 'NEW'],
    settings: storeSettings,
    flags: {
      overwrite: {
        kind: 'switch',
        default: 'false',
        help: 'replace existing topics at the new paths; without it, the command stops at the first one',
      },
    },
    async run({ settings, flags, operand }) {
      const [from, to] = [pathIn('OLD', operand('OLD')), pathIn('NEW', operand('NEW'))]
      if (isWithin(from, to) || isWithin(to, from)) throw new UsageError('OLD and NEW must not contain each other')
      const options = { from, to, removes, overwrites: flags.overwrite }
      await runTool(settings, { tool: 'move', options }, async (line, progress) => {
        progress.end()
        const { topics, changed } = toolLine(line, isMovedLine).moved
        await print(`${counted(topics)} ${removes ? 'renamed' : 'copied'}\n`)
        if (changed > 0)
          throw new Error(
            `${counted(changed)} not renamed because of a change or removal in the meantime; run the command again`,
          )
      })
    },
  })
}

function counted(topics: number): string {
  return topics === 1 ? '1 topic' : `${topics} topics`
}

/** @throws UsageError */
function pathIn(name: string, text: string): Path {
  const path = parsePath(text)
  if (typeof path !== 'string') throw new UsageError(`${name} ${path.problem}`)
  return path
}
