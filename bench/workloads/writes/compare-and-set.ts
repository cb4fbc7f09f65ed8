/**
 * What does a conditional durable write cost? Each connection runs addAndSet on its own topics, which exist, with the value that it wrote
 * last as the constraint. Every constraint is satisfied, so a rejection is a wrong response.
 */
import { Tree } from '../tree.js'
import { deal, type Scale, usualScale, variantsOf, type Workload } from '../workload.js'

/** Few enough to write their first values before every burst. */
const topicsPerConnection = 20

function chosen(tree: Tree, { connections }: Scale): number[] {
  return tree.sample(connections * topicsPerConnection, 420)
}

export const cas: Workload = {
  name: 'cas',
  question: 'What does a durable addAndSet cost on condition that the topic has a given value?',
  scale: usualScale,
  servers: ['redis + webdis', 'etcd'],
  ordered: true,
  scripts(tree, scale, round) {
    const [first, second] = variantsOf(round)
    const change = (index: number, from: number, to: number) => ({
      kind: 'cas' as const,
      path: tree.path(index),
      current: tree.value(index, from),
      value: tree.value(index, to),
    })
    return deal(chosen(tree, scale), scale.connections).map((own) => [
      ...own.map((index) => change(index, first, second)),
      ...own.map((index) => change(index, second, first)),
    ])
  },
  before(scale, round) {
    const tree = new Tree(scale.topics, scale.valueBytes)
    const [first] = variantsOf(round)
    return chosen(tree, scale).map((index) => {
      return { kind: 'overwrite', path: tree.path(index), value: tree.value(index, first) }
    })
  },
}
