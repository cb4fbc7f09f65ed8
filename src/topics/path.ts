/**
 * Topic paths: the one place where a string becomes a `Path`.
 *
 * A path is one or more segments joined by `/`; one leading and one trailing `/` are dropped. Paths are compared by
 * their UTF-8 bytes and never normalised to a Unicode form. Stored keys are in key.ts; matching is in selectors/.
 */
import { pathBytesMax } from '../settings/limits.js'

/** A checked path: no empty segment, no U+0000, no lone surrogate, at most `pathBytesMax` bytes of UTF-8. */
export type Path = string & { readonly brand: 'Path' }

/** The reason why a string is not a path, as a phrase that follows the member's name in a message. */
interface PathProblem {
  readonly problem: string
}

const plainAscii = /^[\x01-\x7f]*$/

/** Drops one leading and one trailing slash. */
export function parsePath(text: string): Path | PathProblem {
  const start = text.charCodeAt(0) === slash ? 1 : 0
  const end = text.length > start && text.charCodeAt(text.length - 1) === slash ? text.length - 1 : text.length
  const path = start === 0 && end === text.length ? text : text.slice(start, end)
  if (path === '') return { problem: 'is empty; a path has at least one segment' }
  if (path.charCodeAt(0) === slash || path.charCodeAt(path.length - 1) === slash || path.includes('//')) {
    return { problem: 'has an empty segment (two slashes in a row)' }
  }
  if (plainAscii.test(path)) {
    if (path.length > pathBytesMax) return tooLong(path.length)
    return path as Path
  }
  if (path.includes('\0')) return { problem: 'contains the character U+0000, which a path must not contain' }
  if (!path.isWellFormed()) return { problem: 'contains a lone surrogate, which UTF-8 cannot encode' }
  const bytes = Buffer.byteLength(path)
  return bytes > pathBytesMax ? tooLong(bytes) : (path as Path)
}

/** Includes the topic at `subtree` itself. */
export function isWithin(path: Path, subtree: Path): boolean {
  return path.startsWith(subtree) && (path.length === subtree.length || path.charCodeAt(subtree.length) === slash)
}

const slash = 0x2f

function tooLong(bytes: number): PathProblem {
  return { problem: `has ${bytes} bytes of UTF-8; the limit is ${pathBytesMax}` }
}
