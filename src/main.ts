#!/usr/bin/env node
/**
 * The command line: finds out what is asked for, and becomes it. Nothing else. A command's code is loaded when it is asked
 * for: `serve` is the primary, which has no use for the engines that the other commands bring along.
 */
import { type Command, parseCall, refuseArguments } from './commands/command.js'
import { commandHelp, overviewHelp } from './commands/help.js'
import { OutputClosed, print } from './commands/stdout.js'
import { UsageError } from './config.js'
import { exitCodes, fatal, writeError } from './exit-codes.js'
import { suggestion } from './nearest.js'
import { quoted, redacted } from './quoted.js'
import { version } from './version.js'

/** The commands by the words that call them, in the order in which the help lists them. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  serve: () => import('./commands/serve.js').then(({ serve }) => serve),
  reload: () => import('./commands/reload.js').then(({ reload }) => reload),
  settings: () => import('./commands/settings.js').then(({ settings }) => settings),
  'keys add': () => import('./commands/keys.js').then(({ addKey }) => addKey),
  'keys list': () => import('./commands/keys.js').then(({ listKeys }) => listKeys),
  'keys revoke': () => import('./commands/keys.js').then(({ revokeKey }) => revokeKey),
  check: () => import('./commands/check.js').then(({ check }) => check),
  backup: () => import('./commands/backup.js').then(({ backup }) => backup),
  export: () => import('./commands/export.js').then(({ exportTopics }) => exportTopics),
  import: () => import('./commands/import.js').then(({ importTopics }) => importTopics),
  openapi: () => import('./commands/openapi.js').then(({ openapi }) => openapi),
  migrate: () => import('./commands/migrate.js').then(({ migrate }) => migrate),
}

const names = Object.keys(commands)

/** What the first word of a command line may be. */
const firstWords = [...new Set(names.map((name) => name.split(' ')[0])), 'help', 'version']

/** The actions of a command that has several, such as keys. */
function actionsOf(group: string): readonly string[] {
  return names.filter((name) => name.startsWith(`${group} `)).map((name) => name.slice(group.length + 1))
}

/**
 * The words at the beginning that call a command.
 *
 * @throws UsageError when there is none of that name
 */
function commandName([first, second]: readonly string[]): string {
  if (Object.hasOwn(commands, first)) return first
  if (first.startsWith('-')) throw new UsageError(`unknown flag ${redacted(first)}; the command comes first`)
  const actions = actionsOf(first)
  if (actions.length === 0) throw new UsageError(`unknown command ${quoted(first)}${suggestion(first, firstWords)}`)
  if (second === undefined || second.startsWith('-'))
    throw new UsageError(`${first} needs one of ${actions.join(', ')}`)
  const name = `${first} ${second}`
  if (!Object.hasOwn(commands, name)) throw new UsageError(`unknown command ${quoted(name)}${suggestion(name, names)}`)
  return name
}

/** The help for all commands, or for those that begin with a word. */
async function overview(group: string): Promise<string> {
  const loaded = await Promise.all(names.map(async (name) => [name, await commands[name]()] as const))
  return overviewHelp(Object.fromEntries(loaded), group)
}

/** @param words of a command, or of a group of them, with whatever follows; none for all */
async function helpFor(words: readonly string[]): Promise<string> {
  // These two have no flags, so that the list tells everything of them.
  if (words.length === 0 || (words.length === 1 && ['help', 'version'].includes(words[0]))) return overview('')
  if (words.length === 1 && actionsOf(words[0]).length > 0) return overview(words[0])
  const name = commandName(words)
  return commandHelp(name, await commands[name]())
}

/** Whether --help or -h is among the flags. */
function asksForHelp(words: readonly string[]): boolean {
  const flagsEnd = words.indexOf('--')
  return (flagsEnd < 0 ? words : words.slice(0, flagsEnd)).some((word) => word === '--help' || word === '-h')
}

async function run(words: readonly string[]): Promise<void> {
  const [first, ...rest] = words
  if (first === 'help' || asksForHelp(words)) {
    const about = first === 'help' ? rest : words
    const flagsFrom = about.findIndex((word) => word.startsWith('-'))
    const asked = flagsFrom < 0 ? about : about.slice(0, flagsFrom)
    if (first === 'help' && asked.length > 1) refuseArguments(asked.slice(commandName(asked).split(' ').length))
    return print(await helpFor(asked))
  }
  if (first === 'version' || first === '--version' || first === '-V') {
    refuseArguments(rest)
    return print(`topicd ${version}\n`)
  }
  const name = commandName(words)
  const command = await commands[name]()
  await command.run(parseCall(command, words.slice(name.split(' ').length)))
}

/** Where to read more about what was typed. */
function hint(words: readonly string[]): string {
  const known = [words.slice(0, 2).join(' '), words[0]].find(
    (name) => Object.hasOwn(commands, name) || actionsOf(name).length > 0,
  )
  return `topicd help${known === undefined ? '' : ` ${known}`}`
}

const typed = process.argv.slice(2)
if (typed.length === 0) {
  writeError(await overview(''))
  process.exitCode = exitCodes.usage
} else {
  await run(typed).catch((error: Error) => {
    if (error instanceof UsageError) fatal(exitCodes.usage, `${error.message} (see ${hint(typed)})`)
    // A reader such as head has what it wanted.
    if (error instanceof OutputClosed) process.exit(exitCodes.done)
    fatal(exitCodes.failed, error.message)
  })
}
