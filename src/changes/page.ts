/**
 * A page of changes as clients get it: results, whether there are more, and the token to go on with. Nothing is read
 * here.
 */
import { pathOfKeyText } from '../topics/key.js'
import { encodeToken, type Position } from './token.js'

export interface ChangesPage {
  /** JSON: each an item, or a removal. */
  readonly results: readonly Uint8Array[]
  readonly hasMore: boolean
  /** Where the client is once it has them. */
  readonly next: Position
}

const heads = { more: Buffer.from('{"has_more":true,"results":['), last: Buffer.from('{"has_more":false,"results":[') }
const comma = Buffer.from(',')

/** The body of the answer, JSON. @param token that of `next`, if it is known */
export function bodyOf({ results, hasMore, next }: ChangesPage, token = encodeToken(next)): Buffer {
  const parts: Uint8Array[] = [hasMore ? heads.more : heads.last]
  for (const [index, result] of results.entries()) {
    if (index > 0) parts.push(comma)
    parts.push(result)
  }
  parts.push(Buffer.from(`],"next":"${token}"}`))
  return Buffer.concat(parts)
}

/** The result for a topic: its item, copied, or that it is not there in the form that is asked for. */
export function resultOf(key: string, item: Uint8Array | undefined): Uint8Array {
  if (item !== undefined) return Buffer.from(item)
  return Buffer.from(`{"path":${JSON.stringify(pathOfKeyText(key))},"removed":true}`)
}
