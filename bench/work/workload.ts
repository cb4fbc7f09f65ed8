/**
 * The shape of a workload: a question, a scale to ask it at, and the scripts that its connections run. Pure data; the
 * runner decides who is asked, how often and for how long.
 */
import type { Operation, Script } from './operation.js'
import type { Tree } from './tree.js'

/** How much of everything. */
export interface Scale {
  readonly topics: number
  readonly valueBytes: number
  readonly connections: number
  readonly pageSize: number
}

/** A workload, one a file. */
export interface Workload {
  readonly name: string
  /** What its figures answer, in one sentence. */
  readonly question: string
  readonly scale: Scale
  /** Whether other stores can do the same work, or why only the floor stands beside topicd. */
  readonly contenders: 'all' | 'floor only'
  /** Whether answers depend on a connection's earlier requests, which wrk cannot tie together. */
  readonly ordered: boolean
  /** The most that topicd may cost, as a multiple of the floor. */
  readonly ratioMax?: number
  /** The most that topicd's median latency may be. */
  readonly latencyMedianMsMax?: number
  /**
   * One script a connection.
   *
   * @param round which of the interleaved bursts this is, from 0: writes of neighbouring rounds differ, since a write of
   *   the value that is already there would be less work
   */
  scripts(tree: Tree, scale: Scale, round: number): readonly Script[]
  /** What is done, unmeasured, before a burst, so that its scripts find what they expect. Failures do not matter. */
  before?(scale: Scale, round: number): readonly Operation[]
}

/** The scale that a workload has unless it says otherwise: the one of the targets; growth.ts measures the others. */
export const usualScale: Scale = { topics: 10_000, valueBytes: 64, connections: 64, pageSize: 10 }

/** The scale of the workloads that ask what selectors cost in a big tree. */
export const selectorScale: Scale = { ...usualScale, topics: 1_000_000, connections: 16 }

/** Most different requests of one burst: enough to defeat the processor's caches, few enough to prepare in a second. */
export const distinctRequestsMax = 20_000

/** Most bytes of prepared values and answers in one burst. */
export const distinctBytesMax = 16 * 1024 * 1024

/** How many different requests a burst has when each carries `bytes` bytes in its body or its answer. */
export function distinctRequests(bytes: number, connections: number): number {
  const most = Math.min(distinctRequestsMax, Math.floor(distinctBytesMax / bytes))
  return Math.max(1, Math.floor(most / connections)) * connections
}

/** Deals things out over connections: neighbours go to neighbouring connections. Each connection gets at least one. */
export function deal<Thing>(things: readonly Thing[], connections: number): Thing[][] {
  return Array.from({ length: connections }, (_, connection) => {
    const own = things.filter((_, i) => i % connections === connection)
    return own.length > 0 ? own : [things[connection % things.length]]
  })
}

/** Variants of values that the writes of a round use: two, and not those of the round before. */
export function variantsOf(round: number): readonly [number, number] {
  return round % 2 === 0 ? [1, 2] : [3, 4]
}

/** Every variant that a topic can hold once rounds have written. */
export const everyVariant: readonly number[] = [0, 1, 2, 3, 4]
