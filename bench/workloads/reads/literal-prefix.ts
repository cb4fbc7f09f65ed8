/**
 * What does a page cost for a full-path pattern whose literal prefix limits the scan to one group out of 1,000,000 topics?
 */
import { selectorScale, type Workload } from '../workload.js'
import { randomPages } from './page.js'

export const literalPrefix: Workload = {
  name: 'literal-prefix',
  question: 'What does a page of 10 for a full-path pattern with a literal prefix cost?',
  scale: selectorScale,
  servers: 'floor only',
  ordered: false,
  scripts(tree, scale, round) {
    const groups = tree.topics / tree.group
    const matches = tree.group - 1
    return randomPages(tree, scale, 800 + round, (random) => {
      const first = Math.floor(random * groups) * tree.group
      return {
        kind: 'page',
        selector: { text: `*${tree.path(first).slice(0, -'000'.length)}[0-9]+` },
        after: undefined,
        size: scale.pageSize,
        items: tree.items(first, Math.min(matches, scale.pageSize)),
        hasMore: matches > scale.pageSize,
      }
    })
  },
}
