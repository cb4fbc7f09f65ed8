/**
 * What does a durable write cost when a request contains 100 or 1,000 of them, all or nothing? Each connection runs addAndSet on its own
 * random topics, which exist, always with new values. The floor receives the same body.
 */
import type { Item, Script } from '../operation.js'
import { Tree } from '../tree.js'
import { deal, type Scale, usualScale, variantsOf, type Workload } from '../workload.js'

const connections = 16

/** The tree of the single writes with which this workload is compared. */
const usual: Scale = { ...usualScale, connections }

/** Enough topics for each connection to have 1,000. */
const large: Scale = { ...usual, topics: 20_000 }

/** The random topics of each connection. */
function ownTopics(tree: Tree, connections: number): number[][] {
  return deal(tree.sample(tree.topics, 410), connections)
}

/** Writes per batch, at most `size`: in a small tree, a connection has fewer topics. */
function writesPerBatch(tree: Tree, connections: number, size: number): number {
  return Math.min(size, ...ownTopics(tree, connections).map((own) => own.length))
}

function batches(tree: Tree, scale: Scale, round: number, size: number): readonly Script[] {
  const count = writesPerBatch(tree, scale.connections, size)
  return ownTopics(tree, scale.connections).map((own) =>
    variantsOf(round).flatMap((variant) => {
      const writes = own.map((index): Item => ({ path: tree.path(index), value: tree.value(index, variant) }))
      const whole = Math.floor(writes.length / count)
      return Array.from({ length: whole }, (_, i) => {
        return { kind: 'batch' as const, writes: writes.slice(i * count, (i + 1) * count) }
      })
    }),
  )
}

function batch(size: number, scale: Scale, microsecondsPerTopicMax: number): Workload {
  return {
    name: `batch-${size}`,
    question: `What does a durable batch of ${size.toLocaleString('en')} addAndSet cost?`,
    scale,
    servers: ['redis + webdis', 'etcd'],
    ordered: false,
    microsecondsPerTopicMax,
    topicsPerRequest: ({ topics, valueBytes, connections }) =>
      writesPerBatch(new Tree(topics, valueBytes), connections, size),
    scripts: (tree, scale, round) => batches(tree, scale, round, size),
  }
}

export const batch100 = batch(100, usual, 6)

export const batch1000 = batch(1000, large, 3.5)
