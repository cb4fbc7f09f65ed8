/**
 * Items in other forms than the stored one: with properties or versions, without values, of both types. Each statement
 * reads what the form shows and no more, and the items are put together here. Which topics are read is decided in
 * reads.ts.
 */
import { decodeKey, encodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import type { KeyRange } from '../../../topics/range.js'
import { bareItem, propertiesMember } from '../../../topics/topic.js'
import { versionMembers } from '../../../topics/version.js'
import type { Absent, ItemForm, PageQuery } from '../../topics.js'
import { bytesArray, bytesOf } from '../sql/arrays.js'
import { typeNumbers, typeOfColumn } from '../sql/rows.js'
import { type Execute, hasType, type Parameter, type Statement } from '../sql/statement.js'

/** A topic, as far as a form shows it. */
export interface FormRow {
  readonly key: string
  readonly type: string
  readonly item: string | null
  readonly properties: string | null
  readonly version: string | null
}

/**
 * Topics in order: with their items if `$1`, with their properties if `$2`, with their versions if `$3`, up to the first
 * that certainly makes a page exceed `$4` bytes, and two at least. An item without its value has more bytes than its key.
 *
 * @param topics selects rows of topics
 */
function formStatement(name: string, topics: string): Statement<FormRow> {
  return {
    name,
    text: `
      select p.key, p.type, p.item, p.properties, p.version
      from (
        select t.*, row_number() over w as number,
          sum(bytes) over w - bytes - 1 as before
        from (
          select f.*, coalesce(octet_length(f.item), octet_length(f.key)) + coalesce(octet_length(f.properties), 0) + 1 as bytes
          from (
            select s.key, s.type, case when $1::boolean then s.item end as item,
              case when $2::boolean then coalesce(s.properties, '{}') end as properties,
              case when $3::boolean then s.version end as version
            from (${topics}) s
          ) f
        ) t
        window w as (order by t.key rows unbounded preceding)
      ) p
      where p.number <= 2 or p.before <= $4::bigint order by p.key`,
  }
}

/** The first `$7` topics of each range. */
const readForms = formStatement(
  'read_forms',
  `select l.* from unnest($5::bytea[], $6::bytea[]) q (start, stop)
   cross join lateral (
     select key, type, item, properties, version from topicd.topics where key >= q.start and key < q.stop order by key limit $7::int
   ) l`,
)

/** The same of one type. As in match-scan.ts, only the index by type and key can serve it. */
const readFormsOfType = formStatement(
  'read_forms_of_type',
  `select l.* from unnest($5::bytea[], $6::bytea[]) q (start, stop)
   cross join lateral (
     select key, type, item, properties, version from topicd.topics
     where ${hasType} and (type, key) >= ($8::smallint, q.start) and (type, key) < ($8::smallint, q.stop)
     order by type, key limit $7::int
   ) l`,
)

const readFormsOfKeys = formStatement(
  'read_forms_of_keys',
  `select key, type, item, properties, version from topicd.topics
   where key = any($5::bytea[]) and ($6::smallint is null or type = $6::smallint)`,
)

const readForm: Statement<FormRow> = {
  name: 'read_form',
  text: `
    select key, type, case when $2::boolean then item end as item,
      case when $3::boolean then coalesce(properties, '{}') end as properties,
      case when $4::boolean then version end as version
    from topicd.topics where key = $1::bytea`,
}

/** One topic's item, or why there is none. */
export async function readTopicInForm(read: Execute, path: Path, form: ItemForm): Promise<Uint8Array | Absent> {
  const [row] = await read(readForm, [encodeKey(path), ...columnsOf(form)])
  if (row === undefined) return 'no_such_topic'
  if (form.type !== 'any' && form.type !== typeOfColumn(row.type)) return 'incompatible_type'
  return Buffer.from(itemOf(row))
}

/** The first `size + 1` items of each range, up to the first that exceeds the query's `bytesMax`, and two at least. */
export async function readRangesInForm(
  read: Execute,
  ranges: readonly KeyRange[],
  { form, size, bytesMax }: PageQuery,
): Promise<Iterable<string>> {
  const starts = bytesArray(ranges.map(({ start }) => start))
  const ends = bytesArray(ranges.map(({ end }) => end))
  const parameters = [...columnsOf(form), bytesMax, starts, ends, size + 1]
  const rows = await (form.type === 'any'
    ? read(readForms, parameters)
    : read(readFormsOfType, [...parameters, typeNumbers[form.type]]))
  return itemsOf(rows)
}

/** The items of these keys, in order, up to the first that exceeds the query's `bytesMax`, and two at least. */
export async function readKeysInForm(
  read: Execute,
  keys: readonly Buffer[],
  { form, bytesMax }: PageQuery,
): Promise<Iterable<string>> {
  const { type } = form
  if (type !== 'any' && !form.values && !form.properties && !form.versions)
    return keys.map((key) => bareItem(decodeKey(key), type))
  const number = type === 'any' ? null : typeNumbers[type]
  return itemsOf(await read(readFormsOfKeys, [...columnsOf(form), bytesMax, bytesArray(keys), number]))
}

/** The parameters that say what of a topic is read. */
export function columnsOf({ values, properties, versions }: ItemForm): readonly [Parameter, Parameter, Parameter] {
  return [String(values), String(properties), String(versions)]
}

/** One by one: a page that is full needs no more of them. */
function* itemsOf(rows: Iterable<FormRow>): Generator<string> {
  for (const row of rows) yield itemOf(row)
}

/** The item of a topic in the form for which its row was read. */
export function itemOf({ key, type, item, properties, version }: FormRow): string {
  const bare = item === null || version !== null ? bareItem(decodeKey(bytesOf(key)), typeOfColumn(type)) : ''
  let shown = item ?? bare
  if (version !== null) {
    const head = bare.length - 1
    shown = shown.slice(0, head) + versionMembers(Number(version)) + shown.slice(head)
  }
  return properties === null ? shown : shown.slice(0, -1) + propertiesMember(properties)
}
