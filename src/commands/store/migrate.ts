/** `topicd migrate`: creates or updates the schema of a PostgreSQL store. Running it again changes nothing. */
import { isExclusive } from '../../settings/address.js'
import { readConfig, UsageError } from '../../settings/config.js'
import { migrateStore } from '../../store/open.js'
import { command } from '../command.js'
import { print } from '../stdout.js'

export const migrate = command({
  summary: 'creates or updates the schema in PostgreSQL',
  details: 'The role in --store needs permission to create a schema. Running it again changes nothing.',
  operands: [],
  settings: ['store', 'settings'],
  flags: {},
  async run({ settings }) {
    const { store } = readConfig(settings)
    if (isExclusive(store))
      throw new UsageError('--store is lmdb, which needs no migration; it must be a postgres:// address')
    const { from, to } = await migrateStore(store)
    const outcome = from === to ? `already has version ${to}` : `was migrated from version ${from} to ${to}`
    await print(`the schema ${outcome}\n`)
  },
})
