/**
 * A primary and its synchronous standby, set up as an administrator would by hand: a write is acknowledged when both have it. Either can be
 * stopped, frozen and restarted, and the standby promoted.
 */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { migratePostgresStore } from '../../../dist/store/postgres/open.js'
import { at } from '../elements.js'
import { freePorts } from '../machines/ports.js'
import { execute, findBinaries, OwnCluster } from './postgres-cluster.js'

export interface Pair {
  readonly primary: OwnCluster
  readonly standby: OwnCluster
  /** The database with the schema, at both hosts; clients use the current primary. */
  readonly address: string
  /** The same database on one of the servers. */
  addressAt(cluster: OwnCluster): string
}

/** Whether PostgreSQL is installed. */
export const hasPostgres = findBinaries() !== undefined

const standbyName = 'second'
const database = 'topicd'

/** Starts both servers, until the test ends. */
export async function startPair(t: Test, settings: readonly string[] = []): Promise<Pair> {
  const binaries = findBinaries() ?? ''
  const ports = await freePorts(2)
  const clusterAt = async (port: number): Promise<OwnCluster> =>
    new OwnCluster(binaries, await mkdtemp(join(tmpdir(), 'topicd-pair-')), port, settings)
  const [primary, standby] = await Promise.all([clusterAt(at(ports, 0)), clusterAt(at(ports, 1))])
  t.teardown(() => Promise.all([primary.remove(), standby.remove()]))
  await primary.make()
  await primary.start()
  await execute(primary.address('postgres'), `create database ${database}`)
  const addressAt = (cluster: OwnCluster): string => cluster.address(database)
  await migratePostgresStore(addressAt(primary))
  await standby.follow(primary, standbyName)
  await standby.start()
  await execute(primary.address('postgres'), `alter system set synchronous_standby_names = '${standbyName}'`)
  await execute(primary.address('postgres'), 'select pg_reload_conf()')
  for (;;) {
    const [row] = await execute(
      primary.address('postgres'),
      "select count(*) as count from pg_stat_replication where sync_state = 'sync'",
    )
    if (Number(row?.count) === 1) break
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return {
    primary,
    standby,
    addressAt,
    address: `postgres://topicd@127.0.0.1:${ports[0]},127.0.0.1:${ports[1]}/${database}`,
  }
}
