/** The statements that read topics as rows: at keys, and the first of ranges. Each reads what is wanted and no more. */
import type { KeyRange } from '../../../topics/range.js'
import type { TopicType } from '../../../topics/topic.js'
import type { Wanted } from '../../engine.js'
import { bytesArray } from '../sql/arrays.js'
import { typeNumbers } from '../sql/rows.js'
import { type Execute, hasType, type Statement, sameKey } from '../sql/statement.js'
import { columnsFor, type TopicRow, topicColumns } from './stored-topic.js'

/** Ranges that are read together, once the first one has not been enough. */
export const rangesAtOnce = 8

/** A row of a statement that reads up to a number of bytes. */
export interface PlacedRow extends TopicRow {
  /** That of its key, or of its range, among those that were asked for; from 1. */
  readonly place: string
  /** Whether what comes before it has no more bytes than were asked for; otherwise it has neither item nor properties. */
  readonly fits: string
}

/**
 * Topics in order, with what fits into `$3` bytes: of the first that exceeds them, too.
 *
 * @param topics selects them, with the columns of a `TopicRow` and `place`
 * @param order of the topics
 */
function placed(name: string, topics: string, order: string): Statement<PlacedRow> {
  return {
    name,
    text: `
      select key, type, generation, version, created, updated, due, place, (before <= $3::bigint)::text as fits,
        case when before <= $3::bigint then item end as item, case when before <= $3::bigint then properties end as properties
      from (
        select t.*, sum(bytes) over (order by ${order} rows unbounded preceding) - bytes as before
        from (
          select s.*, coalesce(octet_length(s.item), octet_length(s.key)) + coalesce(octet_length(s.properties), 0) + 1 as bytes
          from (${topics}) s
        ) t
      ) w
      order by ${order}`,
  }
}

const readAtKeys = placed(
  'read_topics_at_keys',
  `select v.place, t.key, ${topicColumns}
   from unnest($4::bytea[]) with ordinality as v (key, place) join topicd.topics t on ${sameKey}
   where $5::smallint is null or t.type = $5::smallint`,
  'place',
)

/** The first `$6` topics of each range. */
const inRanges = (name: string, condition: string, order: string): Statement<PlacedRow> =>
  placed(
    name,
    `select q.place, l.key, ${topicColumns}
     from unnest($4::bytea[], $5::bytea[]) with ordinality as q (start, stop, place)
     cross join lateral (select * from topicd.topics where ${condition} order by ${order} limit $6::int) l`,
    'place, key',
  )

const readInRanges = inRanges('read_topics_in_ranges', 'key >= q.start and key < q.stop', 'key')

/** Of one type. Both columns are on both sides of each comparison, so that only the index by type and key can serve it. */
const readInRangesOfType = inRanges(
  'read_topics_in_ranges_of_type',
  `${hasType} and (type, key) >= ($7::smallint, q.start) and (type, key) < ($7::smallint, q.stop)`,
  'type, key',
)

/** The topics at these keys, in their order; none for a key without one, or with one of another type. */
export function rowsAt(
  read: Execute,
  keys: readonly Buffer[],
  type: TopicType | undefined,
  wanted: Wanted,
  bytesMax: number,
): Promise<readonly PlacedRow[]> {
  const number = type === undefined ? null : typeNumbers[type]
  return read(readAtKeys, [...columnsFor(wanted), bytesMax, bytesArray(keys), number])
}

/** The first topics of each range, at most `limit` of it. */
export function rowsIn(
  read: Execute,
  ranges: readonly KeyRange[],
  type: TopicType | undefined,
  wanted: Wanted,
  limit: number,
  bytesMax: number,
): Promise<readonly PlacedRow[]> {
  const starts = bytesArray(ranges.map(({ start }) => start))
  const ends = bytesArray(ranges.map(({ end }) => end))
  const parameters = [...columnsFor(wanted), bytesMax, starts, ends, limit]
  return type === undefined
    ? read(readInRanges, parameters)
    : read(readInRangesOfType, [...parameters, typeNumbers[type]])
}
