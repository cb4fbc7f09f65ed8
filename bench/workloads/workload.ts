/**
 * The shape of a workload: a question, its scale, and the scripts of its connections. Pure; which servers are
 * measured, how often and for how long is decided in commands/ and measure/.
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

/** A workload. Each has a file of its own in workloads/. */
export interface Workload {
  readonly name: string
  /** The question that its figures answer, in one sentence. */
  readonly question: string
  readonly scale: Scale
  /** Which others can do the same work: `all`, none but the floor, or the peers with these names beside the floor. */
  readonly servers: 'all' | 'floor only' | readonly string[]
  /** Whether answers depend on a connection's earlier requests, which wrk cannot check. */
  readonly ordered: boolean
  /** Target: the most that topicd may cost, as a multiple of the floor. */
  readonly ratioMax?: number
  /** Topics that one request changes, where its cost is also told for each of them. */
  topicsPerRequest?(scale: Scale): number
  /** Target: the most CPU time of topicd for each of those topics. */
  readonly microsecondsPerTopicMax?: number
  /** Target: the most that topicd's median latency may be. */
  readonly latencyMedianMsMax?: number
  /**
   * One script per connection.
   *
   * @param round the number of the interleaved burst, from 0, or -1 for checks and warm-up: adjacent rounds write
   *   different values, since it would be less work to write the stored value again
   */
  scripts(tree: Tree, scale: Scale, round: number): readonly Script[]
  /** Operations before a burst, not measured, so that its scripts find what they expect. Failures are ignored. */
  before?(scale: Scale, round: number): readonly Operation[]
}

/** The default scale, to which the targets apply; commands/growth.ts measures others. */
export const usualScale: Scale = { topics: 10_000, valueBytes: 64, connections: 64, pageSize: 10 }

/** The scale of the workloads about selectors in a big tree. */
export const selectorScale: Scale = { ...usualScale, topics: 1_000_000, connections: 16 }

/** Most different requests of one burst: enough to defeat the processor's caches, few enough to prepare in a second. */
const distinctRequestsMax = 20_000

/** Most bytes of prepared values and answers in one burst. */
const distinctBytesMax = 16 * 1024 * 1024

/** How many different requests a burst has if each has `bytes` bytes in its body or its answers. */
export function distinctRequests(bytes: number, connections: number): number {
  const most = Math.min(distinctRequestsMax, Math.floor(distinctBytesMax / bytes))
  return Math.max(1, Math.floor(most / connections)) * connections
}

/**
 * Distributes items over connections: adjacent items go to adjacent connections. Each connection gets at least one,
 * shared with others when there are fewer items than connections.
 */
export function deal<Item>(items: readonly Item[], connections: number): Item[][] {
  return Array.from({ length: connections }, (_, connection) => {
    const own = items.filter((_, i) => i % connections === connection)
    if (own.length > 0) return own
    const shared = connection % items.length
    return items.slice(shared, shared + 1)
  })
}

/** The two variants of values that the writes of a round use; the round before uses two others. */
export function variantsOf(round: number): readonly [number, number] {
  return round % 2 === 0 ? [1, 2] : [3, 4]
}

/** Every variant that a topic may hold after any number of rounds. */
export const everyVariant: readonly number[] = [0, 1, 2, 3, 4]
