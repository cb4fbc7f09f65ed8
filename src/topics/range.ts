/** Ranges of keys: half-open byte intervals, and the operations on them for plans and scans. Pure; knows nothing about selectors. */
import { encodeKey } from './key.js'
import type { Path } from './path.js'

/** The keys k with `start <= k < end`, compared as unsigned bytes. */
export interface KeyRange {
  readonly start: Buffer
  readonly end: Buffer
}

/** Every possible topic: no key starts with 0x00 (a segment is not empty) or 0xff (never a byte of UTF-8). */
export const everyTopic: KeyRange = { start: Buffer.from([0x01]), end: Buffer.from([0xff]) }

export function topicRange(path: Path): KeyRange {
  const start = encodeKey(path)
  return { start, end: keyAfter(start) }
}

export function descendantsRange(path: Path): KeyRange {
  const key = encodeKey(path)
  return { start: keyAfter(key), end: keyAfterSubtree(key) }
}

/** Includes the topic itself: one contiguous range, because 0x00 is the least byte. */
export function subtreeRange(path: Path): KeyRange {
  const start = encodeKey(path)
  return { start, end: keyAfterSubtree(start) }
}

/** The least key that sorts after `key`. */
export function keyAfter(key: Buffer): Buffer {
  return withByte(key, 0x00)
}

/** The least key that sorts after the topic with this key and after all its descendants. */
export function keyAfterSubtree(key: Buffer): Buffer {
  return withByte(key, 0x01)
}

/** `bytes` must not be empty, and its last byte must not be 0xff, which is in no key. */
export function prefixRange(bytes: Buffer): KeyRange {
  const end = Buffer.from(bytes)
  const last = end.length - 1
  end.writeUInt8(end.readUInt8(last) + 1, last)
  return { start: bytes, end }
}

/** Copies ranges that are kept: a small buffer is part of a Node.js pool and would keep all 8 KiB of the pool alive. */
export function inOwnMemory(ranges: readonly KeyRange[]): KeyRange[] {
  const all = Buffer.allocUnsafeSlow(ranges.reduce((bytes, { start, end }) => bytes + start.length + end.length, 0))
  let position = 0
  const own = (key: Buffer): Buffer => all.subarray(position, (position += key.copy(all, position)))
  return ranges.map(({ start, end }) => ({ start: own(start), end: own(end) }))
}

/** Sorts the ranges, merges overlapping and adjacent ones, and drops empty ones. */
export function mergeRanges(ranges: readonly KeyRange[]): KeyRange[] {
  const sorted = ranges.filter((range) => Buffer.compare(range.start, range.end) < 0)
  sorted.sort((a, b) => Buffer.compare(a.start, b.start))
  const merged: KeyRange[] = []
  for (const range of sorted) {
    const last = merged.at(-1)
    if (last === undefined || Buffer.compare(last.end, range.start) < 0) merged.push(range)
    else if (Buffer.compare(last.end, range.end) < 0) merged[merged.length - 1] = { start: last.start, end: range.end }
  }
  return merged
}

/** `a` and `b` must be sorted and disjoint; so is the result. */
export function intersectRanges(a: readonly KeyRange[], b: readonly KeyRange[]): KeyRange[] {
  const common: KeyRange[] = []
  let i = 0
  let j = 0
  let left = a[i]
  let right = b[j]
  while (left !== undefined && right !== undefined) {
    const start = Buffer.compare(left.start, right.start) > 0 ? left.start : right.start
    const leftEndsFirst = Buffer.compare(left.end, right.end) < 0
    const end = leftEndsFirst ? left.end : right.end
    if (Buffer.compare(start, end) < 0) common.push({ start, end })
    if (leftEndsFirst) left = a[++i]
    else right = b[++j]
  }
  return common
}

/** The parts of sorted, disjoint ranges at or after `key`. */
export function rangesFrom(ranges: readonly KeyRange[], key: Buffer): KeyRange[] {
  return intersectRanges(ranges, [{ start: key, end: everyTopic.end }])
}

export function rangesAfter(ranges: readonly KeyRange[], after: Path | undefined): readonly KeyRange[] {
  return after === undefined ? ranges : rangesFrom(ranges, keyAfter(encodeKey(after)))
}

function withByte(key: Buffer, byte: number): Buffer {
  const longer = Buffer.allocUnsafe(key.length + 1)
  key.copy(longer)
  longer[key.length] = byte
  return longer
}
