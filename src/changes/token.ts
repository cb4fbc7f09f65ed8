/**
 * Tokens: each is a client's position in the changes, as a string that the client sends back. A token is opaque to
 * clients, and means the same to every worker and host.
 *
 *     kind, a byte         1: in the log, 2: in a walk of the present state, with the place in the log from before the walk
 *     length of the place, uint16, and the place (store/changes.ts)
 *     only for a walk: the id of the walk (`Scope.walkId`), and the path of the last result
 *     CRC-32 of the above, which distinguishes a truncated or mistyped token from an expired one
 *
 * Numbers are big-endian; the whole token is encoded as base64url.
 */
import { crc32 } from 'node:zlib'
import type { LogPlace } from '../store/changes.js'
import type { Path } from '../topics/path.js'

export interface Position {
  readonly place: LogPlace
  /** Undefined once the present state has been walked. */
  readonly walk: Walk | undefined
}

/** A client's starting point: a position, the current end of the log, or the present state. */
export type Since = Position | 'now' | undefined

interface Walk {
  /** `Scope.walkId`. */
  readonly id: Buffer
  readonly after: Path
}

const kinds = { log: 1, walk: 2 } as const

export const walkIdBytes = 8

const headBytes = 3
const checkBytes = 4

/** Fits the longest path plus a 1 KiB place, as 1.0.0 issued on PostgreSQL: only a token that can be decoded can be reported as gone. */
export const tokenBytesMax = 4096

export function encodeToken({ place, walk }: Position): string {
  const walked = walk === undefined ? [] : [walk.id, Buffer.from(walk.after)]
  const head = Buffer.allocUnsafe(headBytes)
  head.writeUInt16BE(place.length, head.writeUInt8(walk === undefined ? kinds.log : kinds.walk))
  const content = Buffer.concat([head, place, ...walked])
  const check = Buffer.allocUnsafe(checkBytes)
  check.writeUInt32BE(crc32(content))
  return Buffer.concat([content, check]).toString('base64url')
}

export function decodeToken(token: string): Position | undefined {
  if (token.length > tokenBytesMax) return undefined
  const bytes = Buffer.from(token, 'base64url')
  // Buffer.from skips characters that are not base64url.
  if (bytes.toString('base64url') !== token) return undefined
  const content = bytes.subarray(0, -checkBytes)
  if (content.length < headBytes || crc32(content) !== bytes.readUInt32BE(content.length)) return undefined
  const kind = content.readUInt8()
  const placeEnd = headBytes + content.readUInt16BE(1)
  const place = content.subarray(headBytes, placeEnd)
  if (kind === kinds.log) return { place, walk: undefined }
  const id = content.subarray(placeEnd, placeEnd + walkIdBytes)
  if (kind !== kinds.walk || id.length < walkIdBytes) return undefined
  return { place, walk: { id, after: content.toString('utf8', placeEnd + walkIdBytes) as Path } }
}
