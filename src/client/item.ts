/** Topics, each with its value and exact text. Members are plain, so a topic can be logged, spread, cloned and compared. */
import type { FetchItem, FetchPage } from '../api/answers.js'
import type { Properties, TopicType } from '../topics/topic.js'
import { elementsOf, membersOf } from './json-slices.js'

/** A topic as it was when the service sent it. */
export class Item implements FetchItem {
  constructor(
    readonly path: string,
    readonly type: TopicType,
    /** The value as JSON.parse reads it; undefined if `text` is undefined. */
    readonly value: unknown,
    /** The value's JSON text with every digit as sent; undefined if the topic has no value, or if values were omitted. */
    readonly text: string | undefined,
    /** The topic's properties; undefined unless requested. */
    readonly properties: Properties | undefined,
    /** The version of the topic's last change; undefined unless requested. */
    readonly version: number | undefined,
    /** The time of the topic's last change in ISO 8601; undefined unless requested. */
    readonly updated: string | undefined,
  ) {}

  /** Called by JSON.stringify. Includes the parsed value; only `text` preserves every digit. */
  toJSON(): FetchItem {
    const { path, type, version, updated, value, properties } = this
    return { path, type, version, updated, value, properties }
  }
}

/** Topics in tree order: a topic precedes its descendants. */
export interface Page extends FetchPage {
  readonly results: readonly Item[]
}

/** @throws SyntaxError if the text is not an item */
export function itemOf(text: string): Item {
  const members = membersOf(text)
  const [path, type, value] = [parsed(members, 'path'), parsed(members, 'type'), parsed(members, 'value')]
  if (typeof path !== 'string' || (type !== 'json' && type !== 'string')) throw new SyntaxError('not a topic')
  const properties = parsed(members, 'properties') as Properties | undefined
  const version = parsed(members, 'version') as number | undefined
  const updated = parsed(members, 'updated') as string | undefined
  const sent = members.get('value')
  // A copy: V8 keeps a whole response in memory for as long as a part of it exists.
  return new Item(path, type, value, sent && ` ${sent}`.slice(1), properties, version, updated)
}

/** The items, undefined for each missing topic. @throws SyntaxError if the text has no results */
export function itemsOf(text: string): readonly (Item | undefined)[] {
  const results = elementsOf(membersOf(text).get('results') ?? '')
  if (results.length === 0) throw new SyntaxError('no results')
  return results.map((result) => (membersOf(result).has('missing') ? undefined : itemOf(result)))
}

/** @throws SyntaxError if the text is not a page */
export function pageOf(text: string): Page {
  const members = membersOf(text)
  const has_more = parsed(members, 'has_more')
  if (typeof has_more !== 'boolean') throw new SyntaxError('not a page')
  const results = elementsOf(members.get('results') ?? '').map(itemOf)
  if (has_more && results.length === 0) throw new SyntaxError('an empty page that is not the last')
  return { has_more, results }
}

function parsed(members: ReadonlyMap<string, string>, name: string): unknown {
  const text = members.get(name)
  return text === undefined ? undefined : JSON.parse(text)
}
