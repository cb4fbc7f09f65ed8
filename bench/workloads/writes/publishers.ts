/**
 * What does a durable write cost when many publishers feed the tree? 10,000 topics, each in its own subtree and written
 * by only one connection, with 20 topics per connection.
 */
import { valueText } from '../tree.js'
import { deal, usualScale, variantsOf, type Workload } from '../workload.js'

const topicsPerConnection = 20

function path(publisher: number): string {
  return `publishers/${String(publisher).padStart(5, '0')}/state`
}

function publishers(connections: number): number[] {
  return Array.from({ length: connections * topicsPerConnection }, (_, i) => i)
}

export const manyPublishers: Workload = {
  name: 'many-publishers',
  question: 'What does a durable write cost when 500 connections feed 20 topics each?',
  scale: { ...usualScale, connections: 500 },
  servers: 'all',
  ordered: false,
  scripts(tree, scale, round) {
    return deal(publishers(scale.connections), scale.connections).map((own) =>
      variantsOf(round).flatMap((variant) =>
        own.map((i) => ({ kind: 'overwrite' as const, path: path(i), value: valueText(i, variant, tree.valueBytes) })),
      ),
    )
  },
  before(scale, round) {
    if (round > 0) return []
    return publishers(scale.connections).map((i) => ({
      kind: 'create',
      path: path(i),
      value: valueText(i, 0, scale.valueBytes),
    }))
  },
}
