/**
 * How a topic's type and properties are stored in columns. The other columns are described in schema.ts.
 */
import type { Properties, TopicType } from '../../../topics/topic.js'

export const typeNumbers: Readonly<Record<TopicType, number>> = { json: 1, string: 2 }

export function typeOfColumn(column: string): TopicType {
  return Number(column) === typeNumbers.json ? 'json' : 'string'
}

/** The properties in a `properties` column. */
export function propertiesOf(column: string | null): Properties {
  return column === null ? {} : (JSON.parse(column) as Properties)
}

/** The `properties` column of a topic; undefined for null, which most topics have: no properties. */
export function columnOfProperties(properties: Properties): Buffer | undefined {
  return Object.keys(properties).length === 0 ? undefined : Buffer.from(JSON.stringify(properties))
}
