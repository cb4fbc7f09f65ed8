/** `topicd serve`: runs the primary. */
import { runPrimary } from '../cluster/primary/primary.js'
import { settingNames } from '../settings/table.js'
import type { Command } from './command.js'

export const serve: Command = {
  summary: 'serves the topics of a data directory until SIGTERM',
  details: 'SIGHUP reads the settings file again and replaces the workers one by one.',
  operands: [],
  settings: settingNames,
  flags: {},
  run: ({ settings }) => runPrimary(settings),
}
