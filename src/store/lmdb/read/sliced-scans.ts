/**
 * Runs scans of keys (match-scan.ts): each begins in the slice of its caller and, unless it finishes there, continues in
 * others, so that other requests get their turns. All that unfinished scans of this process have found stays within one bound.
 */

import type { Awaitable } from '../../../base/awaitable.js'
import type { Cancellation } from '../../../base/cancellation.js'
import { sliceNow, waitForSlice } from '../../../base/time-slices.js'
import type { Plan } from '../../../selectors/plan.js'
import type { Page, PageQuery } from '../../topics.js'
import { MatchScan, type ScanSource } from './match-scan.js'
import { createPageBuffer, type PageBuffer } from './page-buffer.js'
import type { Snapshots } from './read-freshness.js'

/** Results held by all scans of one worker that wait for their next slice. Beyond that, their pages end early. */
const scanBytesWaitingMax = 32 * 1024 * 1024

/** A scan's own page buffer: thousands of scans may wait for their slices, most of them with nothing found yet. */
const scanInitialBytes = 4 * 1024

export class Scans {
  #spare: PageBuffer | undefined
  /** What the scans that wait for their next slice have found so far, in bytes. */
  #scanBytes = 0

  constructor(private readonly snapshots: Snapshots) {}

  /**
   * A page of the plan, within its bounds, or ended early because scans wait with too much; the first slice uses the
   * current snapshot.
   *
   * @throws Cancelled at the next slice once `cancellation` is set
   */
  page(
    source: ScanSource,
    plan: Plan,
    bounds: Pick<PageQuery, 'size' | 'bytesMax'>,
    cancellation: Cancellation,
  ): Awaitable<Page> {
    const buffer = this.#spare ?? createPageBuffer(scanInitialBytes)
    this.#spare = undefined
    const scan = new MatchScan(source, plan, bounds, buffer, this.#isCrowded)
    const slice = sliceNow()
    if (slice === undefined || !scan.fill(slice)) return this.#finishInSlices(scan, cancellation)
    this.#spare = buffer
    return scan.page()
  }

  readonly #isCrowded = (): boolean => this.#scanBytes > scanBytesWaitingMax

  async #finishInSlices(scan: MatchScan, cancellation: Cancellation): Promise<Page> {
    let counted = 0
    try {
      for (;;) {
        this.#scanBytes += scan.bytes - counted
        counted = scan.bytes
        const slice = await waitForSlice(cancellation)
        if (this.snapshots.alone(() => scan.fill(slice))) return scan.page()
      }
    } finally {
      this.#scanBytes -= counted
    }
  }
}
