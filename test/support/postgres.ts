/**
 * A PostgreSQL for tests: the server that TOPICD_TEST_POSTGRES names, else the one that a run of many files shares, else a
 * cluster of this process's own. A test gets databases of its own in it, with the schema in them.
 *
 * Where there is neither, `postgres()` gives undefined, and a test that is skipped for that reports it.
 */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import root from 'tap'
import { migratePostgresStore } from '../../dist/store/postgres/open.js'
import { type Cluster, execute, findBinaries, OwnCluster, sharedEngine } from './postgres-cluster.js'

export interface Postgres {
  /** The address of a new, empty database, with the schema or bare; it is dropped at the end. */
  database(kind?: 'migrated' | 'bare'): Promise<string>
  /** Undefined where the server is not ours to stop. */
  readonly cluster: Cluster | undefined
}

/** Why the half of a test that needs PostgreSQL is skipped. */
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
  if (address !== undefined) return serverAt(address, undefined, true)
  const shared = process.env[sharedEngine]
  if (shared !== undefined) return serverAt(shared, undefined, false)
  const binaries = findBinaries()
  if (binaries === undefined) {
    console.error(`\n*** ${skipReason} ***\n`)
    return undefined
  }
  const directory = await mkdtemp(join(tmpdir(), 'topicd-postgres-'))
  const cluster = new OwnCluster(binaries, directory)
  root.teardown(() => cluster.remove())
  await cluster.make()
  await cluster.start()
  return serverAt(cluster.address('postgres'), cluster, false)
}

/**
 * The databases that this process made on a server.
 *
 * @param isKept whether the server outlives the tests, so that databases have to be dropped
 */
function serverAt(address: string, cluster: Cluster | undefined, isKept: boolean): Postgres {
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
    cluster,
    async database(kind = 'migrated') {
      if (kind === 'bare') return addressOf(await create(`encoding 'UTF8' template template0`))
      template ??= makeTemplate()
      return addressOf(await create(`template ${await template}`))
    },
  }
}
