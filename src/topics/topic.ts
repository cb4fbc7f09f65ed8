/** The parts of a topic, as types alone: clients have them too, in browsers. Its serialised form is in item.ts. */

/** The kind of value that a topic holds. */
export type TopicType = 'json' | 'string'

/** Settings given when a topic is created. They never change afterwards. */
export interface Properties {
  readonly [name: string]: string
}
