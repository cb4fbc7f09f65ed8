/**
 * Full-path patterns: one pattern for the whole path, planned as the ranges of its literal prefixes. If the prefixes
 * are not exact, the compiled pattern is the matcher, which never skips. Pure.
 */
import { pathBytesMax } from '../settings/limits.js'
import { encodeKey } from '../topics/key.js'
import { isWithin, type Path, parsePath } from '../topics/path.js'
import { everyTopic, type KeyRange, keyAfter, mergeRanges, prefixRange, subtreeRange } from '../topics/range.js'
import type { Pattern } from './pattern/pattern.js'
import type { Prefix } from './pattern/prefixes.js'
import type { Plan } from './plan.js'
import { type Scope, scopeRange } from './scope.js'

/** @param literal a path whose subtree is selected whether or not the pattern matches */
export function planFullPath(pattern: Pattern | undefined, literal: Path | undefined, scope: Scope): Plan {
  const literalRanges = literal === undefined ? [] : [subtreeRange(literal)]
  const prefixes = pattern?.prefixes.filter(isPossible) ?? []
  const ranges = mergeRanges([...literalRanges, ...prefixes.flatMap((prefix) => rangesOf(prefix, scope))])
  if (pattern?.engine === undefined) return { ranges, matcher: undefined }
  const { test } = pattern.engine
  return { ranges, matcher: literal === undefined ? test : (path) => isWithin(path as Path, literal) || test(path) }
}

/** True if a path can start with the prefix. U+0000 must not get into a key, where it would be read as a separator. */
function isPossible({ text }: Prefix): boolean {
  return text === '' || (!text.includes('\0') && !/^\/|\/\//.test(text) && Buffer.byteLength(text) <= pathBytesMax)
}

function rangesOf({ text, rest }: Prefix, scope: Scope): KeyRange[] {
  if (rest === 'none') {
    const path = parsePath(text)
    return path === text ? [scopeRange(path, scope)] : []
  }
  if (text === '') return [everyTopic]
  const { start, end } = prefixRange(encodeKey(text))
  return [{ start: rest === 'nonEmpty' ? keyAfter(start) : start, end }]
}
