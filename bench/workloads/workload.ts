/**
 * The shape of a workload: a question, its scale, and the scripts of its connections. Pure; commands/ and measure/ decide which servers are
 * measured, how often and for how long.
 */
import type { Operation, Script } from './operation.js'
import type { Tree } from './tree.js'

/** The size of a workload. */
export interface Scale {
  readonly topics: number
  readonly valueBytes: number
  readonly connections: number
  readonly pageSize: number
}

/** A workload. Each has its own file in workloads/. */
export interface Workload {
  readonly name: string
  /** The question that the figures answer, in one sentence. */
  readonly question: string
  readonly scale: Scale
  /** The other servers that can do the same work: `all`, only the floor, or the floor and the peers with these names. */
  readonly servers: 'all' | 'floor only' | readonly string[]
  /** Whether responses depend on a connection's earlier requests, which wrk cannot check. */
  readonly ordered: boolean
  /** Target: topicd's maximum cost, as a multiple of the floor. */
  readonly ratioMax?: number
  /** Topics changed per request, if the cost per topic is also reported. */
  topicsPerRequest?(scale: Scale): number
  /** Target: topicd's maximum CPU time per changed topic. */
  readonly microsecondsPerTopicMax?: number
  /** Target: topicd's maximum median latency. */
  readonly latencyMedianMsMax?: number
  /**
   * One script per connection.
   *
   * @param round the number of the interleaved burst, from 0, or -1 for checks and warm-up; adjacent rounds write different values, because
   * rewriting the stored value would be less work
   */
  scripts(tree: Tree, scale: Scale, round: number): readonly Script[]
  /** Unmeasured operations before a burst that prepare the state its scripts expect. Failures are ignored. */
  before?(scale: Scale, round: number): readonly Operation[]
}

/** The default scale, to which the targets apply; commands/growth.ts measures others. */
export const usualScale: Scale = { topics: 10_000, valueBytes: 64, connections: 64, pageSize: 10 }

/** The scale of the workloads about selectors in a big tree. */
export const selectorScale: Scale = { ...usualScale, topics: 1_000_000, connections: 16 }

/** Maximum different requests per burst: enough to defeat the processor's caches, few enough to prepare in a second. */
const distinctRequestsMax = 20_000

/** Maximum bytes of prepared values and responses per burst. */
const distinctBytesMax = 16 * 1024 * 1024

/** The number of different requests of a burst if each has `bytes` bytes in its body or its responses. */
export function distinctRequests(bytes: number, connections: number): number {
  const most = Math.min(distinctRequestsMax, Math.floor(distinctBytesMax / bytes))
  return Math.max(1, Math.floor(most / connections)) * connections
}

/**
 * Distributes items over connections: adjacent items go to adjacent connections. Each connection gets at least one item; if there are fewer
 * items than connections, connections share items.
 */
export function deal<Item>(items: readonly Item[], connections: number): Item[][] {
  return Array.from({ length: connections }, (_, connection) => {
    const own = items.filter((_, i) => i % connections === connection)
    if (own.length > 0) return own
    const shared = connection % items.length
    return items.slice(shared, shared + 1)
  })
}

/** The two variants of values that the writes of a round use; the previous round uses the other two. */
export function variantsOf(round: number): readonly [number, number] {
  return round % 2 === 0 ? [1, 2] : [3, 4]
}

/** Every variant that a topic may have after any number of rounds. */
export const everyVariant: readonly number[] = [0, 1, 2, 3, 4]
