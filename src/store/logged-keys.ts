/** The keys in the log's records, each preceded by its length (16 bits, big-endian). Every engine stores the same bytes. */
import { keyTextOf, writeKey } from '../topics/key.js'
import type { Path } from '../topics/path.js'

const lengthBytes = 2

export function loggedBytesMax(path: Path): number {
  return lengthBytes + 3 * path.length
}

/** The keys of the paths, in the same order. */
export function loggedKeys(paths: readonly Path[]): Buffer {
  const keys = Buffer.allocUnsafe(paths.reduce((sum, path) => sum + loggedBytesMax(path), 0))
  let at = 0
  for (const path of paths) {
    const end = writeKey(path, keys, at + lengthBytes)
    keys.writeUInt16BE(end - at - lengthBytes, at)
    at = end
  }
  return keys.subarray(0, at)
}

/** Undefined if the last key is incomplete. */
export function countLoggedKeys(keys: Buffer): number | undefined {
  let count = 0
  let at = 0
  for (; at < keys.length; at = endOf(keys, at)) count++
  return at === keys.length ? count : undefined
}

/** Adds the texts of the keys except the first `skipped` ones. @returns false if the last key is incomplete */
export function addLoggedKeys(texts: string[], keys: Buffer, skipped: number): boolean {
  let left = skipped
  for (let at = 0; at < keys.length; ) {
    const end = endOf(keys, at)
    if (end > keys.length) return false
    if (left > 0) left--
    else texts.push(keyTextOf(keys, at + lengthBytes, end))
    at = end
  }
  return true
}

/** The end of the key; beyond the record if the key is incomplete. */
function endOf(keys: Buffer, at: number): number {
  const start = at + lengthBytes
  return start > keys.length ? start : start + keys.readUInt16BE(at)
}
