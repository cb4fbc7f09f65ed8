/**
 * What the columns of a topic's row mean, for the statements of this folder.
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
