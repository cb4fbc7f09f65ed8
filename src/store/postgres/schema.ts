/**
 * The tables, how they come to be, and whether they are those that this program knows. They stand in a schema of their own,
 * `topicd`, so that one database can serve others too. Only SQL that PostgreSQL, CockroachDB and YugabyteDB share.
 *
 *     topics     one row a topic, in tree order by its key (topics/key.ts); the second index, by type and key, is what
 *                pages go by, so that topics of the other type cost them nothing
 *     api_keys   name → record, JSON
 *     meta       name → number: the schema's version, and the keys' revision
 *     leases     name → holder, until when by the engine's clock
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connections } from './connections.js'
import { stateOf } from './session.js'
import { inTime, type Statement } from './statement.js'

/**
 * Each step makes a schema of the version before it one of the next, and may be carried out again: two who migrate at once,
 * or one who was cut off, do no harm.
 *
 * `type` is 1 for json, 2 for string. `item` is the fetch result item, the value's own text in it. `properties` is JSON, or
 * null for none. `retains` is false for DONT_RETAIN_VALUE. `created` and `updated` are ms since the epoch by the engine's
 * clock. `due` is the earliest time at which the REMOVAL policy may be due, 0 while its clause waits, null for none. `life`
 * is a random number that tells a topic from an earlier one at the same path. The indexes say `asc`, since YugabyteDB would
 * hash their first column otherwise; no engine but that one takes the word in a primary key. The rows leave room in their
 * pages, so that a new value goes beside the old one and no index learns of it. The primary key is the only unique index of
 * the topics: where two create at once, `on conflict (key)` looks at no other, and the later one would fail on it.
 */
const steps: readonly string[] = [
  `create table if not exists topicd.topics (
     key bytea primary key,
     type smallint not null,
     retains boolean not null,
     life bigint not null,
     created bigint not null,
     updated bigint not null,
     due bigint,
     properties text,
     item text not null
   ) with (fillfactor = 80);
   create index if not exists topics_by_type on topicd.topics (type asc, key asc);
   create index if not exists topics_due on topicd.topics (due asc) where due is not null;
   create table if not exists topicd.api_keys (name text primary key, record text not null, used bigint);
   create table if not exists topicd.leases (name text primary key, holder text not null, expires bigint not null);
   insert into topicd.leases (name, holder, expires) values ('removals', '', 0) on conflict (name) do nothing;
   insert into topicd.meta (name, value) values ('keys_revision', 0) on conflict (name) do nothing`,
]

/** The version that this program makes. */
const schemaVersion = steps.length

/**
 * The oldest program that works with the schema that this one makes, by the version which that one makes: with a step that only adds
 * what older programs do not look at, it stays, and hosts are upgraded one after the other behind it.
 */
const oldestProgram = 1

const readVersion: Statement<{ value: string }> = {
  name: 'read_version',
  text: `select value from topicd.meta where name = 'schema_version'`,
}

/** A schema that says nothing of it is from a program before that was written down, and for that one alone. */
const readOldestProgram: Statement<{ value: string }> = {
  name: 'read_oldest_program',
  text: `select value from topicd.meta where name = 'oldest_program'`,
}

const raiseVersion: Statement<never> = {
  name: 'raise_version',
  text: `
    with raised as (
      update topicd.meta set value = $1::bigint where name = 'schema_version' and value = $1::bigint - 1 and ${inTime(3)}
      returning value
    )
    insert into topicd.meta (name, value) select 'oldest_program', $2::bigint from raised
    on conflict (name) do update set value = excluded.value`,
}

/** SQLSTATEs of a schema or table that is not there. */
const missingStates: readonly (string | undefined)[] = ['3F000', '42P01']

/** SQLSTATEs of two who make the same thing at the same time. */
const raceStates: readonly (string | undefined)[] = ['23505', '42P06', '42P07', '40001', 'XX000']

const raceTriesMax = 20
const raceMs = 100

/** The version of the schema that is there; 0 for none. */
async function versionOf({ read }: Connections): Promise<number> {
  try {
    const [row] = await read(readVersion, [])
    return Number(row?.value ?? 0)
  } catch (error) {
    if (missingStates.includes(stateOf(error))) return 0
    throw error
  }
}

/**
 * Holds the schema to one that this program works with: the one that it makes, or a later one that was made for older programs too.
 *
 * @throws Error that says what to run
 */
export async function requireSchema(connections: Connections): Promise<void> {
  const version = await versionOf(connections)
  if (version === schemaVersion) return
  if (version > schemaVersion) {
    const [oldest] = await connections.read(readOldestProgram, [])
    if (Number(oldest?.value ?? version) <= schemaVersion) return
    throw new Error(
      `the store's schema has version ${version}, and this topicd knows ${schemaVersion}: install the newer topicd`,
    )
  }
  const found =
    version === 0
      ? 'there is no topicd schema in the store'
      : `the store's schema has version ${version}, not ${schemaVersion}`
  throw new Error(`${found}: run "topicd migrate" with the same --store`)
}

/**
 * Makes the schema, or brings it to the version that this program makes; the data of a later one are left alone.
 *
 * @returns the versions before and after
 * @throws Error when it is of a later version
 */
export async function migrateSchema(connections: Connections): Promise<{ readonly from: number; readonly to: number }> {
  const from = await versionOf(connections)
  if (from > schemaVersion) {
    await requireSchema(connections)
    return { from, to: from }
  }
  for (let version = from; version < schemaVersion; version++) {
    if (version === 0) {
      await define(connections, 'create schema if not exists topicd')
      await define(
        connections,
        `create table if not exists topicd.meta (name text primary key, value bigint not null);
         insert into topicd.meta (name, value) values ('schema_version', 0) on conflict (name) do nothing`,
      )
    }
    await define(connections, steps[version])
    await connections.write(raiseVersion, [version + 1, oldestProgram])
  }
  return { from, to: schemaVersion }
}

/** `if not exists` looks first and makes then, so another who migrates at this moment can still come in between. */
async function define(connections: Connections, text: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await connections.define(text)
    } catch (error) {
      if (!raceStates.includes(stateOf(error)) || attempt === raceTriesMax) throw error
      await sleep(raceMs)
    }
  }
}
