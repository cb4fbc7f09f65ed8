/**
 * The tables, their migrations, and the check that this program can work with the stored tables. They have their own schema,
 * `topicd`, so that other applications can share the database.
 *
 *     topics     one row per topic, in tree order by its key (topics/key.ts); pages use the second index, by type and
 *                key, so that topics of the other type cost them nothing
 *     api_keys   name → record (JSON), and the time of the key's last use
 *     log        the topics that each commit changed, in the order of the commits
 *     meta       name → number: the schema's version, the oldest program that can use it, the revision of the API keys,
 *                a random number that identifies the store, and the row that every commit locks (commit/function.ts)
 *     leases     name → holder, and the lease's expiry by the engine's clock
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { versionsPerMs } from '../../topics/version.js'
import { commitFunction } from './commit/function.js'
import { orderFunction } from './commit/heads.js'
import type { Connections } from './connection/connections.js'
import { stateOf } from './connection/session.js'
import { readNumber } from './records.js'
import { hasType, inTime, type Statement, startMs } from './sql/statement.js'

const createMeta = `
  create table if not exists topicd.meta (name text primary key, value bigint not null);
  insert into topicd.meta (name, value) values ('schema_version', 0) on conflict (name) do nothing`

/**
 * Creates the tables, and may be repeated: concurrent or interrupted migrations do no harm.
 *
 * `type` is 1 for json, 2 for string. `item` is the fetch result item, with the value's text exactly as it was set. `properties` is
 * JSON, or null for a topic without properties. `created` and `updated` are Unix times in ms by the engine's clock. `due` is the
 * earliest time at which the REMOVAL policy may be due, 0 while its clause waits, null if it is never due. `generation` is a random
 * number that distinguishes a topic from earlier and later ones at the same path. `version` is the version of the last change
 * (topics/version.ts).
 *
 * A row of `log` contains the keys of the topics that one commit changed (store/logged-keys.ts), the version of its last change,
 * and the running total of changes. The last row is never removed; the first has no keys.
 *
 * `fillfactor = 80` leaves room for in-page (HOT) updates. `key` must be the only unique index: `on conflict (key)` checks no
 * other, so the later of two concurrent creations would fail.
 *
 * The index by type and key has a condition, so that no statement without it (`hasType`) uses the index. If the statistics show
 * almost no topics, the planner considers reading the whole index as cheap as looking up a key in the primary one, and statements
 * are planned once. If the tree then grew, each fetch by path would read the whole index until the next ANALYZE.
 */
const createTables = `
  create table if not exists topicd.topics (
    key bytea primary key,
    type smallint not null,
    generation bigint not null,
    created bigint not null,
    updated bigint not null,
    due bigint,
    properties text,
    item text not null,
    version bigint not null
  ) with (fillfactor = 80);
  create table if not exists topicd.api_keys (name text primary key, record text not null, used bigint);
  create table if not exists topicd.leases (name text primary key, holder text not null, expires bigint not null);
  insert into topicd.leases (name, holder, expires) values ('removals', '', 0) on conflict (name) do nothing;
  insert into topicd.meta (name, value) values ('keys_revision', 0) on conflict (name) do nothing`

/**
 * Creates the indexes, the single log, whose versions are greater than those of all topics, and the functions that commit. Applies
 * to new tables and to those of 1.0.0. In that release the log was split into lanes, in the table `changes`; its places are invalid
 * in this log, so the store gets a new id.
 */
const completeSchema = `
  drop index if exists topicd.topics_by_type, topicd.topics_due;
  create index if not exists topics_of_type on topicd.topics (type asc, key asc) where ${hasType};
  create index if not exists topics_by_due on topicd.topics (due asc, key asc) where due is not null;
  create table if not exists topicd.log (version bigint primary key, total bigint not null, keys bytea not null);
  insert into topicd.meta (name, value)
  select name, value from (values
    ('order', 0::bigint),
    ('store_id', floor(random() * ${Number.MAX_SAFE_INTEGER})::bigint + 1)
  ) as v (name, value)
  where not exists (select 1 from topicd.log)
  on conflict (name) do update set value = excluded.value;
  insert into topicd.log (version, total, keys)
  select greatest(${startMs} * ${versionsPerMs}, (select max(version) from topicd.topics)) + 1, 0, ''
  where not exists (select 1 from topicd.log);
  drop table if exists topicd.changes;
  alter table topicd.topics drop column if exists retains;
  ${commitFunction};
  ${orderFunction}`

/** The schema version of 1.0.0, the oldest that can be migrated. */
const releasedVersion = 4

const schemaVersion = 6

/**
 * The oldest program that works with this program's schema, named by the version that it migrates to. A step that only adds parts
 * that older programs ignore leaves it unchanged, so that hosts can be upgraded one at a time once the schema is migrated. A
 * program that does not know the single log would change topics without logging.
 */
const oldestProgram = 6

const raiseVersion: Statement<never> = {
  name: 'raise_version',
  text: `
    with raised as (
      update topicd.meta set value = $1::bigint where name = 'schema_version' and value < $1::bigint and ${inTime(3)}
      returning value
    )
    insert into topicd.meta (name, value) select 'oldest_program', $2::bigint from raised
    on conflict (name) do update set value = excluded.value`,
}

/** SQLSTATEs for a missing schema or table. */
const missingStates: readonly (string | undefined)[] = ['3F000', '42P01']

/** SQLSTATEs for two migrations at the same time: they create the same object, or wait for each other. */
const raceStates: readonly (string | undefined)[] = ['23505', '40P01', '42710', '42P06', '42P07', '40001', 'XX000']

const raceAttemptsMax = 20
const raceMs = 100

/** The version of the stored schema; 0 without a schema. */
async function versionOf({ read }: Pick<Connections, 'read'>): Promise<number> {
  try {
    const [row] = await read(readNumber, ['schema_version'])
    return Number(row?.value ?? 0)
  } catch (error) {
    if (missingStates.includes(stateOf(error))) return 0
    throw error
  }
}

/** Accepts this program's version, or a later one that allows this program. @throws Error whose message tells users what to run */
export async function requireSchema(connections: Pick<Connections, 'read'>): Promise<void> {
  const version = await versionOf(connections)
  if (version === schemaVersion) return
  if (version > schemaVersion) {
    // A schema without this row is from a program that did not store it; only programs of the same version may use such a schema.
    const [oldest] = await connections.read(readNumber, ['oldest_program'])
    if (Number(oldest?.value ?? version) <= schemaVersion) return
    throw new Error(
      `the store's schema has version ${version}, but this topicd supports ${schemaVersion}: install the newer topicd`,
    )
  }
  const problem =
    version === 0
      ? 'there is no topicd schema in the store'
      : `the store's schema has version ${version}, not ${schemaVersion}`
  throw new Error(`${problem}: run "topicd migrate" with the same --store`)
}

/**
 * Migrates the schema; leaves a later one unchanged. @throws Error if a later one does not allow this program, or the schema
 * predates 1.0.0
 */
export async function migrateSchema(connections: Connections): Promise<{ readonly from: number; readonly to: number }> {
  const from = await versionOf(connections)
  if (from > schemaVersion) {
    await requireSchema(connections)
    return { from, to: from }
  }
  if (from > 0 && from < releasedVersion) {
    throw new Error(
      `the store's schema has version ${from}, from a build before 1.0.0: export its topics with that build, and import them into another database`,
    )
  }
  if (from === schemaVersion) return { from, to: from }
  const steps = from === 0 ? ['create schema if not exists topicd', createMeta, createTables] : []
  for (const step of [...steps, completeSchema]) await define(connections, step)
  await connections.write(raiseVersion, [schemaVersion, oldestProgram])
  return { from, to: schemaVersion }
}

/** Retries after a race: `if not exists` checks before it creates, so a concurrent migration can interfere in between. */
async function define(connections: Connections, text: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await connections.define(text)
    } catch (error) {
      if (!raceStates.includes(stateOf(error)) || attempt === raceAttemptsMax) throw error
      await sleep(raceMs)
    }
  }
}
