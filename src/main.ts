#!/usr/bin/env node
/**
 * The command line: finds out what is asked for, and becomes it. Nothing else.
 */
import { backupHelp, runBackup } from './commands/backup.js'
import { checkHelp, runCheck } from './commands/check.js'
import { exportHelp, runExport } from './commands/export.js'
import { importHelp, runImport } from './commands/import.js'
import { keysHelp, runKeys } from './commands/keys.js'
import { migrateHelp, runMigrate } from './commands/migrate.js'
import { openapiHelp, runOpenapi } from './commands/openapi.js'
import { parseCommandLine, serveSettings, settingsHelp, UsageError } from './config.js'
import { exitCodes, fatal } from './exit-codes.js'

const help = `topicd: a topic tree over HTTP

topicd serve [settings]
    serves the topics of a data directory until SIGTERM; SIGHUP restarts its workers one by one
${keysHelp}
${checkHelp}
${backupHelp}
${exportHelp}
${importHelp}
${openapiHelp}
${migrateHelp}

Settings of serve (each also as a variable of the environment):
${settingsHelp(serveSettings)}
`

async function serve(args: readonly string[]): Promise<void> {
  const { values, rest } = parseCommandLine(args, serveSettings)
  if (rest.length > 0) fatal(exitCodes.usage, `"${rest[0]}" is one argument too many (see topicd --help)`)
  const { runPrimary } = await import('./cluster/primary.js')
  await runPrimary(values)
}

const commands: Readonly<Record<string, (args: readonly string[]) => Promise<void>>> = {
  serve,
  keys: runKeys,
  check: runCheck,
  backup: runBackup,
  export: runExport,
  import: runImport,
  openapi: runOpenapi,
  migrate: runMigrate,
}

const [command = '--help', ...args] = process.argv.slice(2)
if (command === '--help' || args.includes('--help')) process.stdout.write(help)
else if (Object.hasOwn(commands, command)) {
  await commands[command](args).catch((error: Error) =>
    fatal(error instanceof UsageError ? exitCodes.usage : exitCodes.failed, error.message),
  )
} else fatal(exitCodes.usage, `"${command}" is no command; see topicd --help`)
