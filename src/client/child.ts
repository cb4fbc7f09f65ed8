/** The children of a path, derived from topics at and below them. Pure. */
import type { TopicType } from '../topics/topic.js'
import type { Item } from './item.js'

/** A path directly below another, or at the top of the tree. */
export interface Child {
  /** The path from the top of the tree. */
  readonly path: string
  /** The last segment of the path. */
  readonly name: string
  /** The topic's type; undefined if there is no topic at the path, only topics below it. */
  readonly type: TopicType | undefined
  /** True if there are topics below the path. */
  readonly hasChildren: boolean
}

/** @param items in tree order, up to two per child @param level the depth of the children, 1 for the top */
export async function* childrenIn(
  items: Iterable<Item> | AsyncIterable<Item>,
  level: number,
): AsyncGenerator<Child, void, undefined> {
  let last: Child | undefined
  for await (const { path, type } of items) {
    const segments = path.split('/')
    const isTopic = segments.length === level
    const childPath = segments.slice(0, level).join('/')
    // A topic precedes its descendants.
    if (last?.path === childPath) last = { ...last, hasChildren: true }
    else {
      if (last !== undefined) yield last
      last = {
        path: childPath,
        name: segments[level - 1] ?? '',
        type: isTopic ? type : undefined,
        hasChildren: !isTopic,
      }
    }
  }
  if (last !== undefined) yield last
}

/** Compares names as the service does: by UTF-8 bytes, which is also the order of code points. */
export function compareNames(a: string, b: string): number {
  let at = 0
  while (at < a.length && a.charCodeAt(at) === b.charCodeAt(at)) at++
  return (a.codePointAt(at) ?? -1) - (b.codePointAt(at) ?? -1)
}

/** The parent's path, which is empty for a path at the top of the tree. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf('/'), 0))
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
