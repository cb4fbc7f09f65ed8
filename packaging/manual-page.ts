/** Builds the manual page topicd(8) from the help of the commands. */
import { join } from 'node:path'
import { exitCodes } from '../dist/base/exit-codes.js'
import { root, run } from './run.js'

const main = join(root, 'dist/main.js')

const { done, failed, usage, portInUse, directoryInUse, restartLimit, listenFailed, forced } = exitCodes

/** docs/monitor.md lists the same codes, and those of single processes. */
const statuses: readonly (readonly [number, string])[] = [
  [done, 'success; for serve: stopped on request'],
  [failed, 'any other failure; a message or the log has the reason'],
  [usage, 'an invalid command, flag, setting, certificate or key; nothing was done'],
  [portInUse, 'a port is in use'],
  [directoryInUse, 'the data directory is in use'],
  [restartLimit, 'serve: eleven workers in a row died before they served'],
  [listenFailed, 'serve: cannot listen on an address'],
  [forced, 'serve: stopped immediately, by a second signal'],
]

/** Each with a command that fits on one line of the page. */
const examples: readonly (readonly [string, string])[] = [
  ['Serve a directory, and print the first API key once:', 'topicd serve --data ./data --first-key'],
  ['Create a key that may only read one subtree:', 'topicd keys add dashboard --allow fetch --under site/1'],
  [
    'Back up the running service, and keep the last seven files:',
    'topicd backup --into /var/lib/topicd-backups --keep 7',
  ],
  ['Copy all topics into another service:', 'topicd export > all.ndjson; topicd import --data ./other < all.ndjson'],
]

/** The help by command. It is the same for every version and kind of package, so each command runs only once. */
const printed = new Map<string, string>()

/** The page in roff, with the macros of man(7). */
export function manualPage(version: string): string {
  const overview = help('')
  return `.TH TOPICD 8 "" "topicd ${version}"
.SH NAME
topicd \\- topic tree over HTTP
.SH SYNOPSIS
.B topicd
.I COMMAND
.RI [ FLAGS ]
.SH DESCRIPTION
Serves a tree of topics over HTTP: each topic has a path and a value, which is stored durably and exactly as it was sent.
.PP
${verbatim(overview.slice(overview.indexOf('Commands:')))}
.SH COMMANDS
${commandsIn(overview)
  .map((name) => `.SS topicd ${name}\n${verbatim(help(name))}`)
  .join('\n')}
.SH EXIT STATUS
${statuses.map(([code, text]) => `.TP\n.B ${code}\n${text}`).join('\n')}
.SH ENVIRONMENT
.TP
.I TOPICD_NAME
a setting, such as TOPICD_PORT: a flag overrides it, and it overrides the settings file. Each command lists its settings.
.TP
.I PGPASSWORD
the password of a PostgreSQL store
.TP
.I NO_COLOR
turns off the colours of a log on a terminal
.SH EXAMPLES
${examples.map(([text, line]) => `${text}\n.PP\n.RS\n${verbatim(line)}\n.RE\n.PP`).join('\n')}
.SH FILES
.TP
.I /etc/topicd/topicd.env
settings of topicd.service, each with its default and its cost
.TP
.I /etc/topicd/instances/NAME.env
settings of topicd@NAME.service
.TP
.I /var/lib/topicd
topics and API keys
.TP
.I /var/lib/topicd\\-backups
backups
.TP
.I /var/lib/topicd@NAME/data, /var/lib/topicd@NAME/backups
the same, for an instance
.SH SEE ALSO
The folder docs/ of the program: /usr/lib/topicd/docs or /opt/topicd/docs
`
}

/** The help for a command; the overview if `command` is empty. */
function help(command: string): string {
  const text =
    printed.get(command) ?? run(process.execPath, [main, 'help', ...command.split(' ').filter(Boolean)], root)
  printed.set(command, text)
  return text
}

/** The names of the commands that the overview lists, except those without their own help. */
function commandsIn(overview: string): readonly string[] {
  const [, list = ''] = /\nCommands:\n([\s\S]*?)\n\n/.exec(overview) ?? []
  const lines = [...list.matchAll(/^ {2}([a-z]+(?: [a-z]+)*)/gm)].map(([, name = '']) => name)
  return lines.filter((name) => name !== 'help' && name !== 'version')
}

/** Unformatted text in a fixed-width font. */
function verbatim(text: string): string {
  const lines = text.trimEnd().split('\n')
  const escaped = lines.map((line) =>
    line
      .replaceAll('\\', '\\e')
      .replaceAll('-', '\\-')
      .replace(/^(?=[.'])/, '\\&'),
  )
  return `.nf\n${escaped.join('\n')}\n.fi`
}
