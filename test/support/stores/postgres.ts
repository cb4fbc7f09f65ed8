/**
 * A PostgreSQL for tests: the server named by TOPICD_TEST_POSTGRES, otherwise the server shared by the files of a run, otherwise a cluster
 * of this process. Each test gets its own databases in it.
 *
 * If PostgreSQL is not installed either, `postgres()` resolves with undefined, and tests are skipped with `skipReason`.
 */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import root from 'tap'
import { migratePostgresStore } from '../../../dist/store/postgres/open.js'
import { type Cluster, execute, findBinaries, OwnCluster, sharedEngine } from './postgres-cluster.js'

export interface Postgres {
  /** The address of a new, empty database, with the schema or bare. */
  database(kind?: 'migrated' | 'bare'): Promise<string>
}

/** Why tests that need PostgreSQL are skipped. */
export const skipReason =
  'NO POSTGRESQL: install Debian\'s package "postgresql", or name a server in TOPICD_TEST_POSTGRES'

let found: Promise<Postgres | undefined> | undefined

/** The PostgreSQL of this process, started at first use. */
export function postgres(): Promise<Postgres | undefined> {
  found ??= find()
  return found
}

async function find(): Promise<Postgres | undefined> {
  const address = process.env.TOPICD_TEST_POSTGRES
  if (address !== undefined) return serverAt(address, true)
  const shared = process.env[sharedEngine]
  return shared === undefined ? ownPostgres() : serverAt(shared, false)
}

/** A PostgreSQL that no other file uses, so that tests may stop it; undefined if PostgreSQL is not installed. */
export async function ownPostgres(): Promise<(Postgres & { readonly cluster: Cluster }) | undefined> {
  const binaries = findBinaries()
  if (binaries === undefined) {
    console.error(`\n*** ${skipReason} ***\n`)
    return undefined
  }
  const cluster = new OwnCluster(binaries, await mkdtemp(join(tmpdir(), 'topicd-postgres-')))
  root.teardown(() => cluster.remove())
  await cluster.make()
  await cluster.start()
  return { ...serverAt(cluster.address('postgres'), false), cluster }
}

/**
 * Creates databases for this process on a server.
 *
 * @param isKept whether the server outlives the tests, so that the databases must be dropped at the end
 */
function serverAt(address: string, isKept: boolean): Postgres {
  const prefix = `topicd_test_${process.pid}_`
  let made = 0
  let template: Promise<string> | undefined
  const addressOf = (name: string): string => address.replace(/^(\w+:\/\/[^/?]*)\/?[^?]*/, `$1/${name}`)

  async function create(options: string): Promise<string> {
    const name = `${prefix}${++made}`
    await execute(address, `create database ${name} ${options}`)
    if (isKept) root.teardown(() => execute(address, `drop database if exists ${name} with (force)`))
    return name
  }

  async function makeTemplate(): Promise<string> {
    const name = await create(`encoding 'UTF8' template template0`)
    await migratePostgresStore(addressOf(name))
    return name
  }

  return {
    async database(kind = 'migrated') {
      if (kind === 'bare') return addressOf(await create(`encoding 'UTF8' template template0`))
      template ??= makeTemplate()
      return addressOf(await create(`template ${await template}`))
    },
  }
}
