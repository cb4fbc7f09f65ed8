/**
 * Finds the target of a command line: a command, help or the version. A command's code is loaded on demand: `serve` runs
 * the primary, which must not load the engines that other commands import. Nothing here prints or exits.
 */
import { suggestion } from '../base/nearest.js'
import { version } from '../base/version.js'
import { UsageError } from '../settings/config.js'
import { quoted, redacted } from '../settings/quoted.js'
import { type Command, parseCall, refuseArguments } from './command.js'
import { commandHelp, overviewHelp } from './help.js'

/** In the order in which the help lists them. */
const commands: ReadonlyMap<string, () => Promise<Command>> = new Map(
  Object.entries({
    serve: () => import('./serve.js').then(({ serve }) => serve),
    reload: () => import('./reload.js').then(({ reload }) => reload),
    settings: () => import('./settings.js').then(({ settings }) => settings),
    'keys add': () => import('./keys/keys.js').then(({ addKey }) => addKey),
    'keys list': () => import('./keys/list-keys.js').then(({ listKeys }) => listKeys),
    'keys revoke': () => import('./keys/keys.js').then(({ revokeKey }) => revokeKey),
    'keys rotate': () => import('./keys/rotate-key.js').then(({ rotateKey }) => rotateKey),
    check: () => import('./store/check.js').then(({ check }) => check),
    backup: () => import('./store/backup.js').then(({ backup }) => backup),
    restore: () => import('./store/restore.js').then(({ restore }) => restore),
    export: () => import('./store/export.js').then(({ exportTopics }) => exportTopics),
    import: () => import('./store/import.js').then(({ importTopics }) => importTopics),
    copy: () => import('./store/move.js').then(({ copyTopics }) => copyTopics),
    rename: () => import('./store/move.js').then(({ renameTopics }) => renameTopics),
    openapi: () => import('./openapi.js').then(({ openapi }) => openapi),
    migrate: () => import('./store/migrate.js').then(({ migrate }) => migrate),
  }),
)

const names = [...commands.keys()]

interface Found {
  readonly name: string
  readonly load: () => Promise<Command>
}

/** Words without flags, which the list of commands describes completely. */
const listedOnly = ['help', 'version']

const firstWords = [...new Set(names.map((name) => name.replace(/ .*/, ''))), ...listedOnly]

/** The actions of a group of commands, such as `keys`. */
function actionsOf(group: string): readonly string[] {
  return names.filter((name) => name.startsWith(`${group} `)).map((name) => name.slice(group.length + 1))
}

/** @throws UsageError if the first words name no command */
function findCommand([first = '', second]: readonly string[]): Found {
  const single = commands.get(first)
  if (single !== undefined) return { name: first, load: single }
  if (first.startsWith('-')) throw new UsageError(`unknown flag ${redacted(first)}; give the command first`)
  const actions = actionsOf(first)
  if (actions.length === 0) throw new UsageError(`unknown command ${quoted(first)}${suggestion(first, firstWords)}`)
  if (second === undefined || second.startsWith('-'))
    throw new UsageError(`${first} needs an action: ${actions.join(', ')}`)
  const name = `${first} ${second}`
  const load = commands.get(name)
  if (load === undefined) throw new UsageError(`unknown command ${quoted(name)}${suggestion(name, names)}`)
  return { name, load }
}

/** @param group empty for all commands */
async function overview(group: string): Promise<string> {
  const loaded = await Promise.all([...commands].map(async ([name, load]) => [name, await load()] as const))
  return overviewHelp(Object.fromEntries(loaded), group)
}

/** @param words a command or a group, and any further words; empty for all commands */
async function helpFor(words: readonly string[]): Promise<string> {
  const [first, ...others] = words
  if (first === undefined) return overview('')
  if (listedOnly.includes(first)) return overview('')
  if (others.length === 0 && actionsOf(first).length > 0) return overview(first)
  const { name, load } = findCommand(words)
  return commandHelp(name, await load())
}

function isHelpRequested(words: readonly string[]): boolean {
  const flagsEnd = words.indexOf('--')
  return (flagsEnd < 0 ? words : words.slice(0, flagsEnd)).some((word) => word === '--help' || word === '-h')
}

/** Returns the help or version text that a command line requests; undefined for a command. @throws UsageError */
export async function textFor(words: readonly string[]): Promise<string | undefined> {
  const [first, ...rest] = words
  if (first === 'help' || isHelpRequested(words)) {
    const about = first === 'help' ? rest : words
    const flagsFrom = about.findIndex((word) => word.startsWith('-'))
    const called = flagsFrom < 0 ? about : about.slice(0, flagsFrom)
    if (listedOnly.includes(called[0] ?? '')) refuseArguments(called.slice(1))
    else if (first === 'help' && called.length > 1) refuseArguments(wordsAfter(called, findCommand(called)))
    return helpFor(called)
  }
  if (first === 'version' || first === '--version' || first === '-V') {
    refuseArguments(rest)
    return `topicd ${version}\n`
  }
  return undefined
}

/**
 * Runs the command that a command line names.
 *
 * @throws UsageError if the arguments, the environment or the settings file are invalid; another Error if the command
 *   fails
 */
export async function runCommand(words: readonly string[]): Promise<void> {
  const found = findCommand(words)
  const command = await found.load()
  await command.run(parseCall(command, wordsAfter(words, found)))
}

function wordsAfter(words: readonly string[], { name }: Found): readonly string[] {
  return words.slice(name.split(' ').length)
}

/** Returns the command that shows the help for a command line. */
export function helpHint(words: readonly string[]): string {
  const known = [words.slice(0, 2).join(' '), ...words.slice(0, 1)].find(
    (name) => commands.has(name) || actionsOf(name).length > 0,
  )
  return `topicd help${known === undefined ? '' : ` ${known}`}`
}
