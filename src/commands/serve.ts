/** `topicd serve`: runs the primary. */
import { runPrimary } from '../cluster/primary/primary.js'
import { settingNames } from '../settings/table.js'
import { command } from './command.js'

export const serve = command({
  summary: "serves a data directory's topics until SIGTERM",
  details: 'SIGHUP rereads the settings file and replaces the workers one by one.',
  operands: [],
  settings: settingNames,
  flags: {},
  run: ({ settings }) => runPrimary(settings),
})
