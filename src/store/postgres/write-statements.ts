/**
 * The statements of set, add, addAndSet and remove. Each decides and writes, and returns the keys that it changed. All
 * have the condition `inTime` (statement.ts), except the read. What their results mean is decided in writes.ts.
 */
import { versionsPerMs } from '../../topics/version.js'
import { clockMs, inTime, nextVersion, type Statement } from './statement.js'

export type KeyRow = { readonly key: string }

/** Sets the values of topics of the given types. */
export const overwrite: Statement<KeyRow> = {
  name: 'overwrite',
  text: `
    update topicd.topics t
    set item = case when t.retains then v.item else t.item end, updated = ${clockMs},
      version = ${nextVersion}
    from unnest($1::bytea[], $2::smallint[], $3::text[]) as v (key, type, item)
    where t.key = v.key and t.type = v.type and ${inTime(4)}
    returning t.key`,
}

/** The same for one topic, without the cost of unpacking arrays: most batches of a lone publisher are one request. */
export const overwriteOne: Statement<KeyRow> = {
  name: 'overwrite_one',
  text: `
    update topicd.topics t
    set item = case when t.retains then $3::text else t.item end, updated = ${clockMs},
      version = ${nextVersion}
    where t.key = $1::bytea and t.type = $2::smallint and ${inTime(4)}
    returning t.key`,
}

/**
 * Overwrites topics that were read before, if they are still the same ones: a generation (`life`) belongs to one topic.
 */
export const overwriteSame: Statement<KeyRow> = {
  name: 'overwrite_same',
  text: `
    update topicd.topics t
    set item = case when t.retains then v.item else t.item end, updated = ${clockMs},
      version = ${nextVersion}
    from unnest($1::bytea[], $2::bigint[], $3::text[]) as v (key, life, item)
    where t.key = v.key and t.life = v.life and ${inTime(4)}
    returning t.key`,
}

/**
 * The version of a new topic, whose generation is `$7`: that of the engine's clock, with a counter from the generation.
 * So a topic that is removed and created again hardly ever has the version that it had, whatever the clock does.
 */
export const firstVersion = `${clockMs} * ${versionsPerMs} + ($7::bigint & ${versionsPerMs - 1})`

/**
 * Its parameters come from `creationParameters`. A new topic with a REMOVAL policy is due at once: it is evaluated
 * then.
 */
const insertTopics = `
    insert into topicd.topics as t (key, type, retains, properties, item, life, created, updated, due, version)
    select v.key, v.type, v.retains, v.properties, v.item, $7::bigint, ${clockMs}, ${clockMs},
      case when v.removal then ${clockMs} end, ${firstVersion}
    from unnest($1::bytea[], $2::smallint[], $3::boolean[], $4::text[], $5::text[], $6::boolean[])
      as v (key, type, retains, properties, item, removal)
    where ${inTime(8)}`

export const create: Statement<KeyRow> = {
  name: 'create',
  text: `${insertTopics} on conflict (key) do nothing returning key`,
}

export const createOrOverwrite: Statement<KeyRow & { readonly life: string }> = {
  name: 'create_or_overwrite',
  text: `${insertTopics}
    on conflict (key) do update
    set item = case when t.retains then excluded.item else t.item end, updated = ${clockMs},
      version = ${nextVersion}
    where t.type = excluded.type and (excluded.properties is null or excluded.properties = t.properties) and ${inTime(8)}
    returning key, life`,
}

/** Overwrites one topic: a lone publisher mostly does that, and it costs the engine less than trying to create. */
export const overwriteLike: Statement<KeyRow> = {
  name: 'overwrite_like',
  text: `
    update topicd.topics t
    set item = case when t.retains then $4::text else t.item end, updated = ${clockMs},
      version = ${nextVersion}
    where t.key = $1::bytea and t.type = $2::smallint and ($3::text is null or t.properties = $3::text) and ${inTime(5)}
    returning t.key`,
}

export const removeTopics: Statement<KeyRow> = {
  name: 'remove',
  text: `delete from topicd.topics where key = any($1::bytea[]) and ${inTime(2)} returning key`,
}

export const readSpecifications: Statement<
  KeyRow & { readonly type: string; readonly properties: string | null; readonly life: string }
> = {
  name: 'read_specifications',
  text: 'select key, type, properties, life from topicd.topics where key = any($1::bytea[])',
}

/** The type, the properties and the generation of the topic at a key. */
export type Specification = typeof readSpecifications extends Statement<infer Row> ? Row : never
