/**
 * How a topic's type and properties are stored in columns. The other columns are described in schema.ts.
 */
import type { Moment } from '../../../base/clock.js'
import type { Properties, TopicType } from '../../../topics/topic.js'

export const typeNumbers: Readonly<Record<TopicType, number>> = { json: 1, string: 2 }

export function typeOfColumn(column: string): TopicType {
  return Number(column) === typeNumbers.json ? 'json' : 'string'
}

/** The properties in a `properties` column. @throws Error when it has none */
export function propertiesOf(column: string | null): Properties {
  const properties: unknown = column === null ? {} : JSON.parse(column)
  if (typeof properties !== 'object' || properties === null) throw new Error('it has no properties')
  return properties as Properties
}

/** A time in a column, which is by the engine's clock: it has no other, so none of its steps is known. */
export function momentOf(column: string): Moment {
  const ms = Number(column)
  return { wallMs: ms, steadyMs: ms, boot: 'engine' }
}

/** The `properties` column of a topic; undefined for null, which most topics have: no properties. */
export function columnOfProperties(properties: Properties): Buffer | undefined {
  return Object.keys(properties).length === 0 ? undefined : Buffer.from(JSON.stringify(properties))
}
