/**
 * Does a page of a plain subtree of 1,000,000 topics cost more near the end of a walk than near its start? It must not: the two costs, and
 * the cost of the same page of 10,000 topics, should be within a factor of 1.3.
 */
import { selectorScale, type Workload } from '../workload.js'
import { pageAfter, randomPages } from './page.js'

function subtreePages(position: string, from: number, to: number): Workload {
  return {
    name: `subtree-${position}`,
    question: `What does a page of 10 of a plain subtree cost, ${position} in a walk over 1,000,000 topics?`,
    scale: selectorScale,
    servers: 'floor only',
    ordered: false,
    scripts(tree, scale, round) {
      const index = (random: number): number => Math.floor((tree.topics - 2) * (from + random * (to - from)))
      return randomPages(tree, scale, 600 + round, (random) => pageAfter(tree, index(random), scale.pageSize))
    },
  }
}

export const subtreeShallow = subtreePages('shallow', 0, 0.01)

export const subtreeDeep = subtreePages('deep', 0.99, 1)
