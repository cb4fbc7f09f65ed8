/**
 * What does a fetch of 100 topics by their paths cost? Random topics of the whole tree, in random order. The sets of topics are the same in
 * every round because webdis, when wrk closes its connections, sends their outstanding responses to clients of the next burst. wrk would
 * report a stray response as wrong if its set were not among those of the current burst.
 */
import { distinctRequests, usualScale, type Workload } from '../workload.js'

const pathsCount = 100

/** Smaller in a smoke run, whose tree is small. */
const countOf = (topics: number): number => Math.min(pathsCount, topics)

export const paths100: Workload = {
  name: `paths-${pathsCount}`,
  question: `What does a fetch of ${pathsCount} topics by their paths cost?`,
  scale: usualScale,
  servers: ['redis + webdis', 'etcd'],
  ordered: false,
  topicsPerRequest: ({ topics }) => countOf(topics),
  scripts(tree, { connections }) {
    const count = countOf(tree.topics)
    const own = distinctRequests(count * (tree.valueBytes + 128), connections) / connections
    return Array.from({ length: connections }, (_, connection) =>
      Array.from({ length: own }, (_, i) => {
        const seed = 500 + connection * own + i
        const items = tree.sample(count, seed).map((index) => ({ path: tree.path(index), value: tree.value(index) }))
        return { kind: 'many' as const, items }
      }),
    )
  },
}
