/** The parts of a topic, as types only, because clients in browsers also use them. The serialised form is in item.ts. */

/** The kind of value in a topic. */
export type TopicType = 'json' | 'string'

/** Settings given when a topic is created; they never change. */
export interface Properties {
  readonly [name: string]: string
}
