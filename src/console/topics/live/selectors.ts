/** Selectors for any number of paths: as few as the service's limit allows. */
import { anyOf } from '../../../client/index.js'

/** The service's limit for a selector is 8,192 bytes. */
const selectorBytesMax = 8000

/** @param of returns the selector for one path */
export function selectorsOf(paths: readonly string[], of: (path: string) => string): readonly string[] {
  return partsOf(paths).map(([first = '', ...others]) => anyOf(of(first), ...others.map(of)))
}

/** Groups of paths whose selectors fit into one selector. */
export function partsOf(paths: readonly string[]): readonly (readonly string[])[] {
  const parts: string[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const path of paths) {
    // A subtree's selector quotes the path and adds up to three marks, and a separator follows.
    const own = new TextEncoder().encode(path.replaceAll(/\W/g, '\\$&')).length + '?//////'.length
    if (bytes + own > selectorBytesMax) {
      parts.push([])
      bytes = 0
    }
    parts.at(-1)?.push(path)
    bytes += own
  }
  return parts
}
