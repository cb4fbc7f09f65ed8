/** Scopes: which topics a match selects, by the end of the selector: itself, its descendants (`/`) or both (`//`). */
import type { Path } from '../topics/path.js'
import { descendantsRange, type KeyRange, subtreeRange, topicRange } from '../topics/range.js'

export type Scope = 'self' | 'descendants' | 'subtree'

export function scopeRange(path: Path, scope: Scope): KeyRange {
  switch (scope) {
    case 'self':
      return topicRange(path)
    case 'descendants':
      return descendantsRange(path)
    case 'subtree':
      return subtreeRange(path)
    default:
      return scope satisfies never
  }
}
