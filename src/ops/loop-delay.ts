/**
 * How late the timers of this process are: a timer that should be called every 20 ms measures how late it was. Node.js
 * has a histogram of that too, but it only forgets when it is reset, and so each of two readers would see what the other
 * left. These samples are forgotten by their age alone.
 */

/** Seconds. */
export interface LoopDelay {
  readonly median: number
  readonly p99: number
  readonly max: number
}

/** Between two samples. */
const sampleMs = 20

/** How long a sample counts: the usual interval at which a monitoring system reads. */
const windowMs = 15_000

/** What the window holds when no timer is late; later ones leave more room. */
const samplesMax = windowMs / sampleMs

/** The samples of the last 15 s. */
export class LoopDelays {
  readonly #atMs = new Float64Array(samplesMax).fill(-Infinity)
  readonly #lateMs = new Float64Array(samplesMax)
  #next = 0

  /**
   * Counts a timer, and those that were not called meanwhile, since a loop that is blocked has no samples: a stall
   * weighs as much as it lasted. The clock is any that never goes back.
   */
  record(nowMs: number, lateMs: number): void {
    const missed = Math.min(Math.floor(lateMs / sampleMs), samplesMax - 1)
    for (let timer = missed; timer >= 0; timer--) this.#add(nowMs, lateMs - timer * sampleMs)
  }

  #add(nowMs: number, lateMs: number): void {
    this.#atMs[this.#next] = nowMs
    this.#lateMs[this.#next] = lateMs
    this.#next = (this.#next + 1) % samplesMax
  }

  /** Changes nothing, so any number of readers see the same. All 0 without a sample. */
  read(nowMs: number): LoopDelay {
    const late = this.#lateMs.filter((_, index) => (this.#atMs[index] as number) > nowMs - windowMs).sort()
    const quantile = (share: number): number => (late[Math.ceil(late.length * share) - 1] ?? 0) / 1000
    return { median: quantile(0.5), p99: quantile(0.99), max: quantile(1) }
  }
}

/** Starts to sample, until the process ends. @returns reads the last 15 s */
export function watchLoop(): () => LoopDelay {
  const delays = new LoopDelays()
  let lastMs = performance.now()
  setInterval(() => {
    const nowMs = performance.now()
    delays.record(nowMs, Math.max(0, nowMs - lastMs - sampleMs))
    lastMs = nowMs
  }, sampleMs).unref()
  return () => delays.read(performance.now())
}
