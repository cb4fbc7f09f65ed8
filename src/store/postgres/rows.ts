/**
 * What the columns of a topic's row mean, and the engine's clock, for the statements of this folder.
 */
import type { Properties, TopicType } from '../../topics/topic.js'

export const typeNumbers: Readonly<Record<TopicType, number>> = { json: 1, string: 2 }

export function typeOfColumn(column: string): TopicType {
  return Number(column) === typeNumbers.json ? 'json' : 'string'
}

/** The properties in a `properties` column. */
export function propertiesOf(column: string | null): Properties {
  return column === null ? {} : (JSON.parse(column) as Properties)
}

/** Whether a topic without properties stands there: most do, and null says so. */
export function columnOfProperties(properties: Properties): Buffer | undefined {
  return Object.keys(properties).length === 0 ? undefined : Buffer.from(JSON.stringify(properties))
}

/** The engine's clock as it stands when the row is written, in whole ms since the epoch: later than any wait for a lock. */
export const clockMs = 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint'

/** The engine's clock as it stood when the statement began, in whole ms since the epoch: fit for an index. */
export const startMs = 'floor(extract(epoch from now()) * 1000)::bigint'
