/** The delay of this process's timers. Node's histogram forgets only when it is reset, so two readers would interfere. */

/** Seconds. */
export interface LoopDelay {
  readonly median: number
  readonly p99: number
  readonly max: number
}

const sampleMs = 20

/** The time for which a sample counts: the usual interval at which a monitoring system reads. */
const windowMs = 15_000

/** The number of samples if no timer is late; there are fewer if timers are late. */
const samplesMax = windowMs / sampleMs

export class LoopDelays {
  readonly #samples: { readonly atMs: number; readonly lateMs: number }[] = []

  /** Also counts missed timers, so that a stall counts in proportion to its length. @param nowMs from a clock that never runs backwards */
  record(nowMs: number, lateMs: number): void {
    const missed = Math.min(Math.floor(lateMs / sampleMs), samplesMax - 1)
    for (let timer = missed; timer >= 0; timer--) this.#samples.push({ atMs: nowMs, lateMs: lateMs - timer * sampleMs })
    this.#samples.splice(0, this.#samples.length - samplesMax)
  }

  /** Changes nothing, so any number of readers get the same result. All values are 0 if there is no sample. */
  read(nowMs: number): LoopDelay {
    const recent = this.#samples.filter(({ atMs }) => atMs > nowMs - windowMs)
    const late = recent.map(({ lateMs }) => lateMs).sort((a, b) => a - b)
    const quantile = (share: number): number => (late[Math.ceil(late.length * share) - 1] ?? 0) / 1000
    return { median: quantile(0.5), p99: quantile(0.99), max: quantile(1) }
  }
}

/** Starts sampling, which continues until the process exits. @returns a function that reads the last 15 s */
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
