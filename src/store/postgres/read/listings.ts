/**
 * Fetching in other forms: with properties or versions, without values, of both types, with a limit for each branch. A page of a
 * plan without a matcher reads its ranges; with a limit for branches, it first reads the keys of what the limit allows
 * (branch-keys.ts). With a matcher, only keys are scanned (match-scan.ts). Keys of both types are those of the primary key.
 */
import { pathBytesMax } from '../../../settings/limits.js'
import { decodeKey, encodeKey } from '../../../topics/key.js'
import { type KeyRange, keyAfter, rangesFrom } from '../../../topics/range.js'
import { bareItem, propertiesMember, type TopicType } from '../../../topics/topic.js'
import { versionMembers } from '../../../topics/version.js'
import { limitBranches } from '../../branches.js'
import { type Cancellation, Cancelled } from '../../cancellation.js'
import type { TopicStore } from '../../store.js'
import type { ItemForm, ListingQuery, Page } from '../../topics.js'
import { bytesArray, bytesOf } from '../sql/arrays.js'
import { typeNumbers, typeOfColumn } from '../sql/rows.js'
import type { Execute, Parameter, Statement } from '../sql/statement.js'
import { branchKeys, branchLimitMax } from './branch-keys.js'
import { matchingKeys } from './match-scan.js'
import { readMatchedPage } from './matched-page.js'
import { createPageItems } from './page-items.js'

/** A topic, as far as a form shows it. */
interface FormRow {
  readonly key: string
  readonly type: string
  readonly item: string | null
  readonly properties: string | null
  readonly version: string | null
}

/**
 * Topics in order: with their items if `$1`, with their properties if `$2`, with their versions if `$3`, up to the first that certainly makes a page
 * exceed `$4` bytes, and two at least. An item without its value has more bytes than its key.
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
     where (type, key) >= ($8::smallint, q.start) and (type, key) < ($8::smallint, q.stop) order by type, key limit $7::int
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

/** Ranges that are read together for one page, once the first range has not filled it. */
const rangesAtOnce = 8

/** @param read for statements that take some ms of the engine's time */
export function createListings(read: Execute): Pick<TopicStore, 'readTopicAs' | 'readListing'> {
  return {
    async readTopicAs(path, form) {
      const [row] = await read(readForm, [encodeKey(path), ...columnsOf(form)])
      if (row === undefined) return 'no_such_topic'
      if (form.type !== 'any' && form.type !== typeOfColumn(row.type)) return 'incompatible_type'
      return Buffer.from(itemOf(row))
    },
    readListing(query, cancellation) {
      const { plan, branches } = query
      // No path has so many segments.
      const limited = branches !== undefined && branches.depth <= pathBytesMax ? branches : undefined
      return limited === undefined && plan.matcher === undefined
        ? readRangesPage(read, query, cancellation)
        : readKeysPage(read, { ...query, branches: limited }, cancellation)
    },
  }
}

async function readRangesPage(read: Execute, query: ListingQuery, cancellation: Cancellation): Promise<Page> {
  const { size, bytesMax, form } = query
  const page = createPageItems(query)
  const ranges = rangesAfter(query)
  for (let from = 0, width = 1; from < ranges.length; from += width, width = rangesAtOnce) {
    if (cancellation.cancelled) throw new Cancelled()
    const some = ranges.slice(from, from + width)
    const starts = bytesArray(some.map(({ start }) => start))
    const ends = bytesArray(some.map(({ end }) => end))
    const parameters = [...columnsOf(form), bytesMax, starts, ends, size + 1]
    const rows = await (form.type === 'any'
      ? read(readForms, parameters)
      : read(readFormsOfType, [...parameters, typeNumbers[form.type]]))
    for (const row of rows) if (!page.add(itemOf(row))) return page.finish(true)
  }
  return page.finish(false)
}

function readKeysPage(read: Execute, query: ListingQuery, cancellation: Cancellation): Promise<Page> {
  const { plan, form, branches, after, size, bytesMax } = query
  const type = form.type === 'any' ? undefined : form.type
  const keys =
    branches !== undefined && branches.limit <= branchLimitMax && plan.matcher === undefined
      ? branchKeys(read, { ranges: plan.ranges, type, branches, after, wanted: size + 1 }, cancellation)
      : matchingKeys(
          read,
          branches === undefined
            ? { ranges: rangesAfter(query), matcher: plan.matcher }
            : limitBranches(plan, branches, after),
          type,
          cancellation,
        )
  return readMatchedPage(keys, query, (some) => readItems(read, some, form, bytesMax))
}

/** The items of these keys, in order, up to the first that makes a page exceed `bytesMax`, and two at least. */
async function readItems(read: Execute, keys: readonly Buffer[], form: ItemForm, bytesMax: number): Promise<string[]> {
  const type: TopicType | undefined = form.type === 'any' ? undefined : form.type
  if (type !== undefined && !form.values && !form.properties && !form.versions)
    return keys.map((key) => bareItem(decodeKey(key), type))
  const number = type === undefined ? null : typeNumbers[type]
  const rows = await read(readFormsOfKeys, [...columnsOf(form), bytesMax, bytesArray(keys), number])
  return rows.map(itemOf)
}

/** The plan's ranges without what is at or before `after`. */
function rangesAfter({ plan, after }: ListingQuery): readonly KeyRange[] {
  return after === undefined ? plan.ranges : rangesFrom(plan.ranges, keyAfter(encodeKey(after)))
}

/** The parameters that say what of a topic is read. */
function columnsOf({ values, properties, versions }: ItemForm): readonly [Parameter, Parameter, Parameter] {
  return [String(values), String(properties), String(versions)]
}

function itemOf({ key, type, item, properties, version }: FormRow): string {
  const bare = item === null || version !== null ? bareItem(decodeKey(bytesOf(key)), typeOfColumn(type)) : ''
  let shown = item ?? bare
  if (version !== null) {
    const head = bare.length - 1
    shown = shown.slice(0, head) + versionMembers(Number(version)) + shown.slice(head)
  }
  return properties === null ? shown : shown.slice(0, -1) + propertiesMember(properties)
}
