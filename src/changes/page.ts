/**
 * A page of changes as clients get it: the results, a has-more flag, and the token to continue from. It is JSON, or an
 * event that contains the JSON. Events end with an empty line, so the JSON must contain no line ends. Nothing is read here.
 */
import { space } from '../json/bytes.js'
import type { Path } from '../topics/path.js'
import { encodeToken, type Position } from './token.js'

export interface ChangesPage {
  /** Each is the JSON of a removal, or of one or more items separated by commas. */
  readonly results: readonly Uint8Array[]
  readonly hasMore: boolean
  /** The client's position once it has the results. */
  readonly next: Position
}

/** A page as bytes: a stream's event, which contains the response to a poll. */
export interface PageBytes {
  readonly hasMore: boolean
  readonly next: Position
  /** Data, an id, and an empty line. */
  readonly event: Buffer
  /** The position in `event` where its data, the page as JSON, ends. */
  readonly bodyEnd: number
}

const dataField = 'data: '
const comma = Buffer.from(',')
const lineFeed = 0x0a
const carriageReturn = 0x0d

export type Frame = ReturnType<typeof frameOf>

/** The bytes around the results. The id is last: some clients adopt it on arrival, even if the event is then truncated. */
export function frameOf({ hasMore, next }: Pick<ChangesPage, 'hasMore' | 'next'>) {
  const token = encodeToken(next)
  const head = Buffer.from(`${dataField}{"has_more":${hasMore},"results":[`)
  const id = `\nid: ${token}\n\n`
  return { hasMore, next, head, tail: Buffer.from(`],"next":"${token}"}${id}`), idBytes: id.length }
}

export function framed(results: readonly Uint8Array[], { hasMore, next, head, tail, idBytes }: Frame): PageBytes {
  const parts: Uint8Array[] = [head]
  for (const [index, result] of results.entries()) {
    if (index > 0) parts.push(comma)
    parts.push(result)
  }
  parts.push(tail)
  const event = Buffer.concat(parts)
  const page = { hasMore, next, event, bodyEnd: event.length - idBytes }
  removeLineEnds(bodyOf(page))
  return page
}

export function bytesOf(page: ChangesPage): PageBytes {
  return framed(page.results, frameOf(page))
}

export function bodyOf({ event, bodyEnd }: PageBytes): Buffer {
  return event.subarray(dataField.length, bodyEnd)
}

/** Replaces line ends with spaces. Line ends occur only between JSON tokens, and only in values that an earlier version stored. */
function removeLineEnds(json: Buffer): void {
  for (const lineEnd of [lineFeed, carriageReturn]) {
    for (let at = json.indexOf(lineEnd); at >= 0; at = json.indexOf(lineEnd, at + 1)) json[at] = space
  }
}

/** The result for a topic: a copy of its item, or a removal if the topic does not exist in the requested form. */
export function resultOf(path: Path, item: Uint8Array | undefined): Uint8Array {
  if (item !== undefined) return Buffer.from(item)
  return Buffer.from(`{"path":${JSON.stringify(path)},"removed":true}`)
}
