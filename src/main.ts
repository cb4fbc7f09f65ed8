#!/usr/bin/env node
/**
 * The command line: finds out what is asked for, and becomes it. Nothing else. A command's code is loaded when it is asked
 * for: `serve` is the primary, which has no use for the engines that the other commands bring along.
 */
import { parseCommandLine, serveSettings, settingsHelp, UsageError } from './config.js'
import { exitCodes, fatal } from './exit-codes.js'

interface Command {
  /** How it is called, and what it does. */
  readonly help: string
  run(args: readonly string[]): Promise<void>
}

const serve: Command = {
  help: `topicd serve [settings]
    serves the topics of a data directory until SIGTERM; SIGHUP restarts its workers one by one`,
  async run(args) {
    const { values, rest } = parseCommandLine(args, serveSettings)
    if (rest.length > 0) throw new UsageError(`"${rest[0]}" is one argument too many (see topicd --help)`)
    const { runPrimary } = await import('./cluster/primary.js')
    await runPrimary(values)
  },
}

/** The commands, in the order in which the help tells of them. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => serve,
  reload: () => import('./commands/reload.js').then(({ reloadHelp: help, runReload: run }) => ({ help, run })),
  keys: () => import('./commands/keys.js').then(({ keysHelp: help, runKeys: run }) => ({ help, run })),
  check: () => import('./commands/check.js').then(({ checkHelp: help, runCheck: run }) => ({ help, run })),
  backup: () => import('./commands/backup.js').then(({ backupHelp: help, runBackup: run }) => ({ help, run })),
  export: () => import('./commands/export.js').then(({ exportHelp: help, runExport: run }) => ({ help, run })),
  import: () => import('./commands/import.js').then(({ importHelp: help, runImport: run }) => ({ help, run })),
  openapi: () => import('./commands/openapi.js').then(({ openapiHelp: help, runOpenapi: run }) => ({ help, run })),
  migrate: () => import('./commands/migrate.js').then(({ migrateHelp: help, runMigrate: run }) => ({ help, run })),
}

async function printHelp(): Promise<void> {
  const known = await Promise.all(Object.values(commands).map((load) => load()))
  process.stdout.write(`topicd: a topic tree over HTTP

${known.map(({ help }) => help).join('\n')}

Settings of serve (each also as a variable of the environment):
${settingsHelp(serveSettings)}
`)
}

const [name = '--help', ...args] = process.argv.slice(2)
if (name === '--help' || args.includes('--help')) await printHelp()
else if (Object.hasOwn(commands, name)) {
  const command = await commands[name]()
  await command.run(args).catch((error: Error) =>
    fatal(error instanceof UsageError ? exitCodes.usage : exitCodes.failed, error.message),
  )
} else fatal(exitCodes.usage, `"${name}" is no command; see topicd --help`)
