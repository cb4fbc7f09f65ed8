/** Scopes: the topics that a match selects. The end of the selector chooses: itself, its descendants (`/`) or both (`//`). */
import type { Path } from '../topics/path.js'
import { descendantsRange, type KeyRange, subtreeRange, topicRange } from '../topics/range.js'

const ranges = { self: topicRange, descendants: descendantsRange, subtree: subtreeRange }

export type Scope = keyof typeof ranges

export function scopeRange(path: Path, scope: Scope): KeyRange {
  return ranges[scope](path)
}
