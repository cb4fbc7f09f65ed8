/** A topic as a row: columns that were not asked for are null. */
import type { Moment } from '../../../base/clock.js'
import type { Path } from '../../../topics/path.js'
import type { TopicType } from '../../../topics/topic.js'
import type { Head, StoredTopic, Wanted } from '../../engine.js'
import { readOf } from '../../errors.js'
import { momentOf, propertiesOf, typeOfColumn } from '../sql/rows.js'
import type { Parameter } from '../sql/statement.js'

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
}

/** Columns of a `TopicRow` beside its key: with the item if `$1`, with the head if `$2`. */
export const topicColumns = `
  type, generation, version, created, updated, case when $1::boolean then item end as item,
  case when $2::boolean then properties end as properties, case when $2::boolean then due end as due`

/** The parameters for `topicColumns`. */
export function columnsFor({ item, head }: Wanted): readonly [Parameter, Parameter] {
  return [String(item), String(head)]
}

export class PostgresTopic implements StoredTopic {
  readonly type: TopicType
  /** Distinguishes it from earlier and later topics at the path. */
  readonly generation: string
  readonly version: number
  #item: Uint8Array | undefined

  constructor(
    private readonly path: Path,
    private readonly row: Omit<TopicRow, 'key'>,
  ) {
    this.type = typeOfColumn(row.type)
    this.generation = row.generation
    this.version = Number(row.version)
  }

  get item(): Uint8Array | undefined {
    const { item } = this.row
    return (this.#item ??= item === null ? undefined : Buffer.from(item))
  }

  /** Of the JSON of its properties. */
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

/** A topic of which nothing but the type is wanted. */
export function bareTopic(path: Path, type: TopicType): PostgresTopic {
  const times = { version: '0', created: '0', updated: '0', due: null }
  return new PostgresTopic(path, { type: typeColumns[type], properties: null, generation: '', item: null, ...times })
}

const typeColumns: Readonly<Record<TopicType, string>> = { json: '1', string: '2' }
