/**
 * Stored keys: a path's UTF-8 bytes with every `/` written as 0x00.
 *
 * No path contains U+0000, so the separator sorts below every other byte. Plain byte order therefore IS tree order: a
 * topic, then its descendants, depth first, with siblings ordered by the bytes of their segments. A subtree is one
 * contiguous range in any engine that compares keys as unsigned bytes. Nothing here depends on an engine.
 *
 *     path       a      a/b       a/c       a-b      b
 *     key        61     61 00 62  61 00 63  61 2d 62  62
 */
import type { Path } from './path.js'

/** Sorts below every byte that a segment can contain. */
const separator = 0x00

const slash = 0x2f

/** `target` must have room for `pathBytesMax` bytes at `position`. @returns the position after the key */
export function writeKey(path: string, target: Buffer, position: number): number {
  const length = path.length
  for (let i = 0; i < length; i++) {
    const code = path.charCodeAt(i)
    if (code > 0x7f) return writeWideKey(path, i, target, position + i)
    target[position + i] = code === slash ? separator : code
  }
  return position + length
}

function writeWideKey(path: string, from: number, target: Buffer, position: number): number {
  const end = position + target.write(path.slice(from), position, 'utf8')
  for (let i = position; i < end; i++) if (target[i] === slash) target[i] = separator
  return end
}

export function encodeKey(path: Path | string): Buffer {
  const key = Buffer.from(path, 'utf8')
  for (let i = 0; i < key.length; i++) if (key[i] === slash) key[i] = separator
  return key
}

/** The path of a key written by `encodeKey` or `writeKey`; `start` and `end` are indexes in `key`. */
export function decodeKey(key: Uint8Array, start = 0, end = key.length): Path {
  const view = Buffer.from(key.buffer, key.byteOffset + start, end - start)
  return view.toString().replaceAll('\0', '/') as Path
}

/** One character for each byte: the strings sort as the keys do, and JavaScript compares strings fast. */
export function keyTextOf(key: Buffer, start = 0, end = key.length): string {
  return key.toString('latin1', start, end)
}

export function pathOfKeyText(text: string): Path {
  return wide.test(text) ? decodeKey(Buffer.from(text, 'latin1')) : (text.replaceAll('\0', '/') as Path)
}

const wide = /[\x80-\xff]/
