/** The help: the list of all commands, and a page for each. Lines fit a terminal of 80 columns. */
import { environmentName, type Setting, type Settings } from '../settings/table.js'
import { type Command, settingsOf } from './command.js'

const columnsMax = 80

/** @param commands by name, in the order of the list @param group lists only commands with this first word; empty for all */
export function overviewHelp(commands: Readonly<Record<string, Command>>, group: string): string {
  const listed: readonly (readonly [string, string])[] = [
    ...Object.entries(commands)
      .filter(([name]) => group === '' || name.startsWith(`${group} `))
      .map(([name, { operands, summary }]) => [[name, ...operands].join(' '), summary] as const),
    ...(group === ''
      ? ([
          ['help [COMMAND]', 'shows this list, or one command and its flags'],
          ['version', 'shows the version'],
        ] as const)
      : []),
  ]
  const width = Math.max(...listed.map(([name]) => name.length))
  const lines = listed.map(([name, summary]) => `  ${name.padEnd(width)}  ${wrapped(summary, width + 4).trimStart()}`)
  const title = group === '' ? 'topicd: a topic tree over HTTP\n\n' : ''
  return `${title}Usage: topicd ${group === '' ? '' : `${group} `}COMMAND [FLAGS]

Commands:
${lines.join('\n')}

"topicd help COMMAND" and "topicd COMMAND --help" describe one command and its
flags. "topicd help serve" lists every setting.
`
}

export function commandHelp(name: string, command: Command): string {
  const { summary, details, operands, operandsOptional, flags } = command
  const settings = settingsOf(command)
  const hasFlags = Object.keys({ ...flags, ...settings }).length > 0
  const usage = `Usage: topicd ${[name, ...operands.map((each) => (operandsOptional ? `[${each}]` : each))].join(' ')}${hasFlags ? ' [FLAGS]' : ''}`
  const sections = [
    usage,
    wrapped(`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.${details === '' ? '' : ` ${details}`}`, 0),
    Object.keys(flags).length === 0 ? '' : `Flags:\n${flagLines(flags)}`,
    Object.keys(settings).length === 0
      ? ''
      : `Settings; a flag overrides the environment, which overrides the settings file:\n${flagLines(settings, environmentName)}`,
  ]
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`
}

/** For each flag: its syntax, its environment variable if it has one, its effect, default and bounds. */
function flagLines(settings: Settings, variable?: (name: string) => string): string {
  return Object.entries(settings)
    .map(([name, setting]) => {
      const flag = setting.kind === 'switch' ? `--${name}` : `--${name} ${setting.value ?? 'N'}`
      const head = `  ${flag.padEnd(27)} ${variable?.(name) ?? ''}`.trimEnd()
      // If a command's own flag has no default value, its help text describes the default.
      const bounds = setting.default === '' && variable === undefined ? '' : ` (${boundsText(setting)})`
      return `${head}\n${wrapped(`${setting.help}${bounds}`, 6)}`
    })
    .join('\n')
}

function boundsText({ kind, min, max, default: usual }: Setting): string {
  return `default ${usual === '' ? 'none' : usual}${kind === 'number' ? `, ${min} to ${max}` : ''}`
}

function wrapped(text: string, indent: number): string {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && indent + line.length + 1 + word.length > columnsMax) {
      lines.push(line)
      line = ''
    }
    line += line === '' ? word : ` ${word}`
  }
  return [...lines, line].map((each) => `${' '.repeat(indent)}${each}`).join('\n')
}
