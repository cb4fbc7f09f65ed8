/** Does a page cost more deep in a walk over the whole tree, with `after` somewhere in the last tenth? */
import { usualScale, type Workload } from '../workload.js'
import { pageAfter, randomPages } from './page.js'

export const deepCursor: Workload = {
  name: 'deep-cursor',
  question: 'Does a page of 10 cost more deep in a walk over the whole tree?',
  scale: usualScale,
  servers: 'all',
  ordered: false,
  scripts(tree, scale, round) {
    const start = Math.floor(tree.topics * 0.9)
    const room = tree.topics - start - 1
    return randomPages(tree, scale, 300 + round, (random) =>
      pageAfter(tree, start + Math.floor(random * room), scale.pageSize),
    )
  },
}
