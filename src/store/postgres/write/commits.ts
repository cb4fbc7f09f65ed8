/**
 * Executing the statements of writes that share one, and counting what they and other transactions committed. What
 * their rows mean is decided in writes.ts.
 */
import { createHistogram, secondsBounds } from '../../../base/histogram.js'
import { batchBounds, type CommitStats } from '../../monitoring.js'
import type { RequestGroup } from '../connection/batcher.js'
import type { Connections } from '../connection/connections.js'
import type { LoggedStatement } from '../sql/logged-statement.js'
import type { Parameter } from '../sql/statement.js'
import { oldestMs, type WriteRequest } from './write-requests.js'

export class Commits {
  readonly #seconds = createHistogram(secondsBounds)
  readonly #batches = createHistogram(batchBounds)
  readonly #stats = { writes: 0, failed: 0, inFlight: 0, seconds: this.#seconds, batches: this.#batches }

  constructor(private readonly write: Connections['writeLogged']) {}

  /**
   * Counts are live. `writes` has those that failed, as with LMDB, and not those in flight, which may change nothing.
   */
  get stats(): CommitStats {
    return this.#stats
  }

  /** Executes the statement of a batch, and counts its requests unless it changed nothing. */
  execute<Row>(
    statement: LoggedStatement<Row>,
    groups: readonly RequestGroup<WriteRequest>[],
    parameters: readonly Parameter[],
  ): Promise<readonly Row[]> {
    const requests = groups.reduce((sum, group) => sum + group.length, 0)
    return this.count(requests, () => this.write(statement, parameters, oldestMs(groups)), hasRows)
  }

  /** Counts what `commit` commits for so many requests, unless its result says that it changed nothing. */
  async count<T>(requests: number, commit: () => Promise<T>, isChanged: (result: T) => boolean): Promise<T> {
    const startedMs = performance.now()
    this.#stats.inFlight += requests
    try {
      const result = await commit()
      if (!isChanged(result)) return result
      this.#stats.writes += requests
      this.#seconds.record((performance.now() - startedMs) / 1000)
      this.#batches.record(requests)
      return result
    } catch (error) {
      this.#stats.writes += requests
      this.#stats.failed += requests
      throw error
    } finally {
      this.#stats.inFlight -= requests
    }
  }
}

function hasRows(rows: readonly unknown[]): boolean {
  return rows.length > 0
}
