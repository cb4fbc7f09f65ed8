/** Scopes: depending on the end of the selector, a match selects itself, its descendants (`/`) or both (`//`). */
import type { Path } from '../topics/path.js'
import { descendantsRange, type KeyRange, subtreeRange, topicRange } from '../topics/range.js'

const ranges = { self: topicRange, descendants: descendantsRange, subtree: subtreeRange }

export type Scope = keyof typeof ranges

export function scopeRange(path: Path, scope: Scope): KeyRange {
  return ranges[scope](path)
}
