/** Topics as rows, and the statements that read them, by key or as the first topics of ranges. Columns that were not requested are null. */
import type { Moment } from '../../../base/clock.js'
import type { Path } from '../../../topics/path.js'
import type { TopicType } from '../../../topics/topic.js'
import type { Head, StoredTopic, Wanted } from '../../engine.js'
import { readOf } from '../../errors.js'
import { bytesArray, momentOf, propertiesOf, typeNumbers } from '../sql/columns.js'
import { type Execute, ofTypes, type Statement, sameKey } from '../sql/statement.js'

export interface TopicRow {
  readonly key: string
  readonly type: string
  readonly properties: string | null
  readonly generation: string
  readonly version: string
  readonly created: string
  readonly updated: string
  readonly due: string | null
  readonly item: string | null
  /** Not `true` if requested columns were left out because the preceding rows have too many bytes. */
  readonly fits: string
}

/** A row of a statement with a byte limit. */
export interface PlacedRow extends TopicRow {
  /** The position of its key or range among those requested, from 1. */
  readonly place: string
}

/** Columns of a `TopicRow` other than its key: with the item if `$1`, with the head if `$2`. */
const topicColumns = `
  type, generation, version, created, updated, case when $1::boolean then item end as item,
  case when $2::boolean then properties end as properties, case when $2::boolean then due end as due`

/**
 * Topics in order, with the columns that fit in `$3` bytes, including those of the first topic that exceeds them.
 *
 * @param topics selects the topics, with the columns of a `TopicRow` and `place`
 */
function placed(topics: string, order: string): string {
  return `
    select key, type, generation, version, created, updated, due, place, (before <= $3::bigint)::text as fits,
      case when before <= $3::bigint then item end as item, case when before <= $3::bigint then properties end as properties
    from (
      select t.*, sum(bytes) over (order by ${order} rows unbounded preceding) - bytes as before
      from (
        select s.*, coalesce(octet_length(s.item), octet_length(s.key)) + coalesce(octet_length(s.properties), 0) + 1 as bytes
        from (${topics}) s
      ) t
    ) w
    order by ${order}`
}

const readAtKeys: Statement<PlacedRow> = {
  name: 'read_topics_at_keys',
  text: placed(
    `select v.place, t.key, ${topicColumns}
     from unnest($4::bytea[]) with ordinality as v (key, place) join topicd.topics t on ${sameKey}
     where $5::smallint is null or t.type = $5::smallint`,
    'place',
  ),
}

/** The first `$6` topics of each range. */
export const readInRanges = ofTypes<PlacedRow>('read_topics_in_ranges', 7, ({ within, order }) =>
  placed(
    `select q.place, l.key, ${topicColumns}
     from unnest($4::bytea[], $5::bytea[]) with ordinality as q (start, stop, place)
     cross join lateral (
       select * from topicd.topics where ${within('q.start', 'q.stop')} order by ${order} limit $6::int
     ) l`,
    'place, key',
  ),
)

/** The topics at these keys, in the same order; no row for a key without a topic, or with one of another type. */
export function rowsAt(
  read: Execute,
  keys: readonly Buffer[],
  type: TopicType | undefined,
  { item, head }: Wanted,
  bytesMax: number,
): Promise<readonly PlacedRow[]> {
  const number = type === undefined ? null : typeNumbers[type]
  return read(readAtKeys, [String(item), String(head), bytesMax, bytesArray(keys), number])
}

export class PostgresTopic implements StoredTopic {
  readonly type: TopicType
  readonly version: number
  #item: Uint8Array | undefined

  constructor(
    private readonly path: Path,
    private readonly row: Omit<TopicRow, 'key'>,
  ) {
    this.type = Number(row.type) === typeNumbers.json ? 'json' : 'string'
    this.version = Number(row.version)
  }

  /** A topic of which only these parts are known. */
  static bare(path: Path, type: TopicType, properties: string | null, generation: string): PostgresTopic {
    const others = { created: '0', updated: '0', version: '0', due: null, item: null, fits: 'true' }
    return new PostgresTopic(path, { type: String(typeNumbers[type]), properties, generation, ...others })
  }

  /** Distinguishes the topic from earlier and later ones at the path. */
  get generation(): string {
    return this.row.generation
  }

  /** The item was left out. */
  get isCut(): boolean {
    return this.row.fits !== 'true'
  }

  get item(): Uint8Array | undefined {
    const { item } = this.row
    return (this.#item ??= item === null ? undefined : Buffer.from(item))
  }

  /** The length of its properties as JSON. */
  get propertiesLength(): number {
    return this.row.properties?.length ?? 0
  }

  head(): Head | undefined {
    const { properties, created, due, generation } = this.row
    if (properties === null && due === null) return undefined
    return readOf(this.path, () => ({
      properties: propertiesOf(properties),
      created: momentOf(created),
      due: due === null ? undefined : { atMs: Number(due), id: generation },
    }))
  }

  updated(): Moment {
    return momentOf(this.row.updated)
  }

  isScheduled(): boolean {
    return true
  }
}
