/**
 * `topicd migrate`: makes the schema of a store that several hosts share, or brings it up to date. Carried out again it
 * changes nothing.
 */
import { parseCommandLine } from '../config.js'
import { exitCodes, fatal } from '../exit-codes.js'
import { migrateStore } from '../store/open.js'
import { whereOf, whereSettings } from './where.js'

export const migrateHelp = `topicd migrate --store ADDRESS
    makes the schema at a postgres:// address, or brings it up to date; needs the right to create a schema there`

export async function runMigrate(args: readonly string[]): Promise<void> {
  const { values, rest } = parseCommandLine(args, { store: whereSettings.store })
  if (rest.length > 0) fatal(exitCodes.usage, `"${rest[0]}" is one argument too many (see topicd --help)`)
  const { from, to } = await migrateStore(whereOf(values).store)
  process.stdout.write(from === to ? `the schema has version ${to} already\n` : `the schema was migrated from version ${from} to ${to}\n`)
}
