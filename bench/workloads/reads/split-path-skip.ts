/**
 * What does a page cost for a split-path pattern whose matches are 1,000 topics apart, when the topics in between are in subtrees that
 * cannot match? A scan that does not skip those subtrees costs 1,000 times as much.
 */
import type { Operation } from '../operation.js'
import type { Tree } from '../tree.js'
import { selectorScale, type Workload } from '../workload.js'
import { randomPages } from './page.js'

export const splitPathSkip: Workload = {
  name: 'split-path-skip',
  question: 'What does a page of 10 for a split-path pattern cost when 1,000 topics per item can be skipped?',
  scale: selectorScale,
  servers: 'floor only',
  ordered: false,
  scripts(tree, scale, round) {
    const groups = tree.topics / tree.group
    return randomPages(tree, scale, 700 + round, (random) =>
      temperatures(tree, Math.floor(random * groups), scale.pageSize),
    )
  },
}

/** The `temp` topics, starting with the one of `group`. */
function temperatures(tree: Tree, group: number, size: number): Operation {
  const temp = (index: number): number => index * tree.group + tree.group - 1
  const count = Math.min(size, tree.topics / tree.group - group)
  return {
    kind: 'page',
    selector: { text: '?a/.*/temp' },
    after: group === 0 ? undefined : tree.path(temp(group - 1)),
    size,
    items: Array.from({ length: count }, (_, i) => tree.item(temp(group + i))),
    hasMore: group + count < tree.topics / tree.group,
  }
}
