/** `topicd serve`: runs the primary. */
import { runPrimary } from '../cluster/primary/primary.js'
import { settingNames } from '../settings/table.js'
import { command } from './command.js'

export const serve = command({
  summary: 'serves the topics of a data directory until SIGTERM',
  details: 'SIGHUP rereads the settings file and replaces the workers one at a time.',
  operands: [],
  settings: settingNames,
  flags: {},
  run: ({ settings }) => runPrimary(settings),
})
