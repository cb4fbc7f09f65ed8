/**
 * What does a page of a subtree cost? Measures the first page of a random group's subtree, with 10 and with 100 items.
 */
import type { Operation } from '../operation.js'
import { seeded, type Tree } from '../tree.js'
import { deal, distinctRequests, type Scale, usualScale, type Workload } from '../workload.js'

/** The first `size` topics of one group. */
function firstPage(tree: Tree, group: number, size: number): Operation {
  const first = group * tree.group
  const items = tree.items(first, Math.min(size, tree.group))
  const subtree = tree.path(first).split('/').slice(0, 2).join('/')
  return { kind: 'page', selector: { subtree }, after: undefined, size, items, hasMore: size < tree.group }
}

/** The page of the whole tree that starts after the topic at `index`. */
export function pageAfter(tree: Tree, index: number, size: number): Operation {
  return {
    kind: 'page',
    selector: { subtree: 'a' },
    after: tree.path(index),
    size,
    items: tree.items(index + 1, size),
    hasMore: index + 1 + size < tree.topics,
  }
}

/** Pages at seeded random positions, as many as `distinctRequests` allows, distributed over the connections. */
export function randomPages(tree: Tree, scale: Scale, seed: number, page: (random: number) => Operation) {
  const random = seeded(seed)
  const count = distinctRequests(scale.pageSize * (tree.valueBytes + 64), scale.connections)
  return deal(
    Array.from({ length: count }, () => page(random())),
    scale.connections,
  )
}

function firstPages(name: string, pageSize: number, ratioMax?: number): Workload {
  return {
    name,
    question: `What does the first page of ${pageSize} items of a subtree cost?`,
    scale: { ...usualScale, pageSize },
    servers: 'all',
    ordered: false,
    ratioMax,
    scripts(tree, scale, round) {
      const groups = tree.topics / tree.group
      return randomPages(tree, scale, 200 + round, (random) =>
        firstPage(tree, Math.floor(random * groups), scale.pageSize),
      )
    },
  }
}

export const page10 = firstPages('page-10', 10, 2.2)

export const page100 = firstPages('page-100', 100)
