/**
 * Executing the statements of batched writes, and counting what they committed. A statement is a commit of its own.
 * What its rows mean is decided in writes.ts.
 */
import { createHistogram, secondsBounds } from '../../histogram.js'
import { batchBounds, type CommitStats } from '../store.js'
import type { RequestGroup } from './batcher.js'
import type { Connections } from './connections.js'
import type { Parameter, Statement } from './statement.js'
import { oldestMs, type WriteRequest } from './write-requests.js'

export class Commits {
  readonly #write: Connections['write']
  readonly #seconds = createHistogram(secondsBounds)
  readonly #batches = createHistogram(batchBounds)
  readonly #stats = { writes: 0, failed: 0, inFlight: 0, seconds: this.#seconds, batches: this.#batches }

  constructor(write: Connections['write']) {
    this.#write = write
  }

  /**
   * Counts are live. `writes` has those that failed, as with LMDB, and not those in flight, which may change nothing.
   */
  get stats(): CommitStats {
    return this.#stats
  }

  /** Executes the statement of a batch, and counts its requests unless it changed nothing. */
  async execute<Row>(
    statement: Statement<Row>,
    groups: readonly RequestGroup<WriteRequest>[],
    parameters: readonly Parameter[],
  ): Promise<readonly Row[]> {
    const requests = groups.reduce((sum, group) => sum + group.length, 0)
    const startedMs = performance.now()
    this.#stats.inFlight += requests
    try {
      const rows = await this.#write(statement, parameters, oldestMs(groups))
      if (rows.length === 0) return rows
      this.#stats.writes += requests
      this.#seconds.record((performance.now() - startedMs) / 1000)
      this.#batches.record(requests)
      return rows
    } catch (error) {
      this.#stats.writes += requests
      this.#stats.failed += requests
      throw error
    } finally {
      this.#stats.inFlight -= requests
    }
  }
}
