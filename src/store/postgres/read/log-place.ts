/**
 * Places in the log of changes (store/changes.ts), as bytes:
 *
 *     id of the store, double
 *     which lanes follow, a bit for each, 8 bytes    the others are at the row 0
 *     for each of them: the row, double, and the last 32 bits of its version
 *     if the place is within a row: the lane, a byte, how many keys of the lane's next row come before it, uint32, and
 *     the last 32 bits of that row's version
 *
 * A place names each row of which it comes after anything, with a part of its version. So a log that lost some of these
 * rows in a failover is recognised, even if other rows have their numbers. All numbers are big-endian.
 */
import { strict as assert } from 'node:assert'
import { lanesCount } from '../../../settings/limits.js'
import { type LogPlace, placeBytesMax } from '../../changes.js'

/** A row of a lane. */
export interface LaneRow {
  readonly n: number
  /** The last 32 bits of its version. */
  readonly check: number
}

export interface Place {
  readonly storeId: number
  /** The last row of each lane that it comes after. */
  readonly lanes: readonly LaneRow[]
  /** The lane of which it also comes after some keys of the next row, with that row's check; undefined if there is none. */
  readonly partial: { readonly lane: number; readonly keys: number; readonly check: number } | undefined
}

const doubleBytes = 8
const maskBytes = lanesCount / 8
const rowBytes = doubleBytes + 4
const partialBytes = 9
/** As version 1.0.0 writes them, without the check. */
const uncheckedPartialBytes = 5
const headBytes = doubleBytes + maskBytes

assert(headBytes + lanesCount * rowBytes + partialBytes <= placeBytesMax)

const firstRow: LaneRow = { n: 0, check: 0 }

/** What a place keeps of a row. @param version as a column */
export function laneRow(n: string, version: string): LaneRow {
  return Number(n) === 0 ? firstRow : { n: Number(n), check: Number(BigInt(version) & 0xffff_ffffn) }
}

export function encodePlace({ storeId, lanes, partial }: Place): LogPlace {
  const place = Buffer.alloc(headBytes + lanes.length * rowBytes + partialBytes)
  place.writeDoubleBE(storeId)
  let end = headBytes
  for (const [lane, { n, check }] of lanes.entries()) {
    if (n === 0) continue
    place[doubleBytes + (lane >> 3)] = (place[doubleBytes + (lane >> 3)] as number) | (1 << (lane & 7))
    end = place.writeUInt32BE(check, place.writeDoubleBE(n, end))
  }
  if (partial !== undefined)
    end = place.writeUInt32BE(partial.check, place.writeUInt32BE(partial.keys, place.writeUInt8(partial.lane, end)))
  return place.subarray(0, end)
}

/**
 * Undefined for bytes that cannot be a place of this engine. A place within a row, but without that row's check, is taken
 * for the place before the row: a client gets some changes twice, but misses none.
 */
export function decodePlace(place: LogPlace): Place | undefined {
  if (place.length < headBytes) return undefined
  const lanes: LaneRow[] = []
  let at = headBytes
  for (let lane = 0; lane < lanesCount; lane++) {
    if (((place[doubleBytes + (lane >> 3)] as number) & (1 << (lane & 7))) === 0) lanes.push(firstRow)
    else {
      if (place.length - at < rowBytes) return undefined
      lanes.push({ n: place.readDoubleBE(at), check: place.readUInt32BE(at + doubleBytes) })
      at += rowBytes
    }
  }
  const isWhole = lanes.every(({ n }) => Number.isSafeInteger(n) && n >= 0)
  const left = place.length - at
  if (!isWhole || ![0, uncheckedPartialBytes, partialBytes].includes(left)) return undefined
  const partial =
    left === partialBytes
      ? { lane: place.readUInt8(at), keys: place.readUInt32BE(at + 1), check: place.readUInt32BE(at + 5) }
      : undefined
  return { storeId: place.readDoubleBE(), lanes, partial }
}

/** See `ChangeReader`. Of two ends of the log, each was read in a snapshot, and the later one has every lane further on. */
export function isAfter(place: LogPlace, earlier: LogPlace): boolean {
  const [later, before] = [decodePlace(place), decodePlace(earlier)]
  return later?.lanes.every(({ n }, lane) => n >= (before?.lanes[lane]?.n ?? 0)) === true
}
