/**
 * What does a durable write cost, and how much do writes gain when they share a flush? Each connection runs addAndSet on its own existing
 * topics, always with a new value, over 1, 64 and 256 connections.
 */
import type { Script } from '../operation.js'
import type { Tree } from '../tree.js'
import { deal, distinctRequests, type Scale, usualScale, variantsOf, type Workload } from '../workload.js'

/** Each connection overwrites its own topics, first with one variant and then with the other. */
export function overwrites(tree: Tree, scale: Scale, round: number): readonly Script[] {
  const count = distinctRequests(2 * (tree.valueBytes + 128), scale.connections)
  const indices = tree.sample(Math.max(count, scale.connections), 400)
  return deal(indices, scale.connections).map((own) =>
    variantsOf(round).flatMap((variant) =>
      own.map((index) => ({ kind: 'overwrite' as const, path: tree.path(index), value: tree.value(index, variant) })),
    ),
  )
}

function overwrite(connections: number, ratioMax?: number): Workload {
  return {
    name: `overwrite-${connections}`,
    question: `What does a durable addAndSet cost with ${connections} connection${connections === 1 ? '' : 's'}?`,
    scale: { ...usualScale, connections },
    servers: 'all',
    ordered: false,
    ratioMax,
    scripts: overwrites,
  }
}

export const overwrite1 = overwrite(1)

export const overwrite64 = overwrite(64)

export const overwrite256 = overwrite(256, 4.5)
