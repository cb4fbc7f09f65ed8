/**
 * The statements of a transaction that carries out batches (batches.ts), beside those that it shares with single writes
 * (write-statements.ts).
 */
import type { ChangedRow } from '../sql/logged-statement.js'
import { clockMs, clockVersion, inTime, type Statement, sameKey } from '../sql/statement.js'
import type { KeyRow, Specification } from './write-statements.js'

/**
 * Locks the rows of these keys, in their order, and inserts one where there is none; returns the keys of those. A row
 * for which the condition of `do update` does not hold is locked all the same.
 */
export const lockKeys: Statement<KeyRow> = {
  name: 'lock_keys',
  text: `
    insert into topicd.topics as t (key, type, retains, item, generation, created, updated, version)
    select v.key, 0, false, '', $2::bigint, 0, 0, 0 from unnest($1::bytea[]) as v (key) where ${inTime(3)}
    on conflict (key) do update set item = t.item where false
    returning t.key`,
}

/** Topics whose rows are locked. The size of an item is known without reading it. */
export const readTopics: Statement<Specification & { readonly version: string; readonly bytes: string }> = {
  name: 'read_topics',
  text: `
    select key, type, properties, generation, version, octet_length(item) as bytes
    from topicd.topics where key = any($1::bytea[])`,
}

/** The items of topics whose rows are locked. */
export const readItems: Statement<KeyRow & { readonly item: string }> = {
  name: 'read_items',
  text: 'select key, item from topicd.topics where key = any($1::bytea[])',
}

/**
 * Makes new topics of rows that are locked, whether they were inserted by `lockKeys` or are topics that were removed.
 * Its parameters come from `creationParameters`.
 */
export const changeTopics: Statement<ChangedRow> = {
  name: 'change_topics',
  text: `
    update topicd.topics t
    set type = v.type, retains = v.retains, properties = v.properties, item = v.item, generation = $7::bigint,
      created = ${clockMs}, updated = ${clockMs}, due = case when v.removal then ${clockMs} end,
      version = greatest(t.version + 1, ${clockVersion})
    from unnest($1::bytea[], $2::smallint[], $3::boolean[], $4::text[], $5::text[], $6::boolean[])
      as v (key, type, retains, properties, item, removal)
    where ${sameKey} and ${inTime(8)}
    returning t.key, t.version`,
}
