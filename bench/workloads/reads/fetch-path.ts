/** What does a fetch of one topic by its path cost beyond the bare HTTP exchange? Random topics of the whole tree. */
import { deal, distinctRequests, usualScale, type Workload } from '../workload.js'

export const fetchPath: Workload = {
  name: 'fetch-path',
  question: 'What does a fetch by path cost?',
  scale: usualScale,
  servers: 'all',
  ordered: false,
  ratioMax: 1.5,
  scripts(tree, scale, round) {
    const indices = tree.sample(distinctRequests(tree.valueBytes + 128, scale.connections), 100 + round)
    return deal(indices, scale.connections).map((own) =>
      own.map((index) => ({ kind: 'fetch', path: tree.path(index), values: [tree.value(index)] })),
    )
  },
}
