/**
 * The statements of set, add, addAndSet and remove. Each decides, writes and logs (sql/logged-statement.ts), and returns the
 * keys that it changed. All have the condition `inTime` (sql/statement.ts), except the read. What their results mean is
 * decided in writes.ts.
 */
import { logged } from '../sql/logged-statement.js'
import { clockMs, clockVersion, inTime, nextVersion, type Statement, sameKey } from '../sql/statement.js'

export type KeyRow = { readonly key: string }

/** Sets the value of each topic that a condition selects, to `item`. @param which its from, if any, and where */
function overwriting(item: string, which: string): string {
  return `
    update topicd.topics t
    set item = case when t.retains then ${item} else t.item end, updated = ${clockMs},
      version = ${nextVersion}
    ${which}
    returning t.key, t.version`
}

/** Sets the values of topics of the given types. */
export const overwrite = logged<KeyRow>('overwrite', {
  parameters: 4,
  text: overwriting(
    'v.item',
    `from unnest($1::bytea[], $2::smallint[], $3::text[]) as v (key, type, item)
    where ${sameKey} and t.type = v.type and ${inTime(4)}`,
  ),
})

/** The same for one topic, without the cost of unpacking arrays: most batches of a lone publisher are one request. */
export const overwriteOne = logged<KeyRow>('overwrite_one', {
  parameters: 4,
  text: overwriting('$3::text', `where t.key = $1::bytea and t.type = $2::smallint and ${inTime(4)}`),
})

/**
 * Overwrites topics that were read before, if they are still the same ones: a generation belongs to one topic.
 */
export const overwriteSame = logged<KeyRow>('overwrite_same', {
  parameters: 4,
  text: overwriting(
    'v.item',
    `from unnest($1::bytea[], $2::bigint[], $3::text[]) as v (key, generation, item)
    where ${sameKey} and t.generation = v.generation and ${inTime(4)}`,
  ),
})

/**
 * Its parameters come from `creationParameters`. A new topic with a REMOVAL policy is due at once: it is evaluated
 * then.
 */
const insertTopics = `
    insert into topicd.topics as t (key, type, retains, properties, item, generation, created, updated, due, version)
    select v.key, v.type, v.retains, v.properties, v.item, $7::bigint, ${clockMs}, ${clockMs},
      case when v.removal then ${clockMs} end, ${clockVersion}
    from unnest($1::bytea[], $2::smallint[], $3::boolean[], $4::text[], $5::text[], $6::boolean[])
      as v (key, type, retains, properties, item, removal)
    where ${inTime(8)}`

export const create = logged<KeyRow>('create', {
  parameters: 8,
  text: `${insertTopics} on conflict (key) do nothing returning key, version`,
})

export const createOrOverwrite = logged<KeyRow & { readonly generation: string }>('create_or_overwrite', {
  parameters: 8,
  columns: ['generation'],
  text: `${insertTopics}
    on conflict (key) do update
    set item = case when t.retains then excluded.item else t.item end, updated = ${clockMs},
      version = ${nextVersion}
    where t.type = excluded.type and (excluded.properties is null or excluded.properties = t.properties) and ${inTime(8)}
    returning key, version, generation`,
})

/** Overwrites one topic: a lone publisher mostly does that, and it costs the engine less than trying to create. */
export const overwriteLike = logged<KeyRow>('overwrite_like', {
  parameters: 5,
  text: overwriting(
    '$4::text',
    `where t.key = $1::bytea and t.type = $2::smallint and ($3::text is null or t.properties = $3::text) and ${inTime(5)}`,
  ),
})

export const removeTopics = logged<KeyRow>('remove', {
  parameters: 2,
  text: `
    delete from topicd.topics t where key = any($1::bytea[]) and ${inTime(2)}
    returning key, ${nextVersion} as version`,
})

export const readSpecifications: Statement<
  KeyRow & { readonly type: string; readonly properties: string | null; readonly generation: string }
> = {
  name: 'read_specifications',
  text: 'select key, type, properties, generation from topicd.topics where key = any($1::bytea[])',
}

/** The type, the properties and the generation of the topic at a key. */
export type Specification = typeof readSpecifications extends Statement<infer Row> ? Row : never
