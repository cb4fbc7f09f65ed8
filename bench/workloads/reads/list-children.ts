/**
 * What does it cost to list 10 children of a topic, without values, when each child has 1,000 topics below it? A server that does not skip
 * those topics reads 1,000 times as much.
 */
import type { Operation } from '../operation.js'
import type { Tree } from '../tree.js'
import { type Scale, usualScale, type Workload } from '../workload.js'
import { randomPages } from './page.js'

/** The children of `a` from the group `first` on, each represented by its first topic. */
function children(tree: Tree, { pageSize }: Scale, first: number): Operation {
  const groups = tree.topics / tree.group
  const count = Math.min(pageSize, groups - first)
  return {
    kind: 'list',
    parent: 'a',
    after: first === 0 ? undefined : tree.path(first * tree.group - 1),
    size: pageSize,
    paths: Array.from({ length: count }, (_, i) => tree.path((first + i) * tree.group)),
    hasMore: first + count < groups,
  }
}

export const listChildren: Workload = {
  name: 'list-children',
  question: 'What does a page of 10 children of a topic cost, each with 1,000 topics below it?',
  scale: { ...usualScale, topics: 100_000 },
  servers: ['redis + webdis'],
  ordered: false,
  scripts(tree, scale, round) {
    const groups = tree.topics / tree.group
    return randomPages(tree, scale, 430 + round, (random) => children(tree, scale, Math.floor(random * groups)))
  },
}
