/**
 * Time that a test skips: `performance.now()` jumps, and the intervals that this process has set in the meantime are called as if they were
 * due. Timeouts are not affected.
 */
import type { Test } from 'tap'

export interface SkippedTime {
  /** Advances the time by `ms`, and calls every interval once. */
  pass(ms: number): void
}

/** Call this before creating any object that sets intervals; the original functions are restored when the test ends. */
export function skippableTime(t: Test): SkippedTime {
  const { setInterval, clearInterval } = globalThis
  const { performance } = globalThis
  const now = performance.now.bind(performance)
  const intervals = new Map<unknown, () => void>()
  let skippedMs = 0
  performance.now = () => now() + skippedMs
  globalThis.setInterval = ((callback: () => void, ms: number) => {
    const interval = setInterval(callback, ms)
    intervals.set(interval, callback)
    return interval
  }) as typeof setInterval
  globalThis.clearInterval = ((interval: NodeJS.Timeout) => {
    intervals.delete(interval)
    clearInterval(interval)
  }) as typeof clearInterval
  t.teardown(() => {
    performance.now = now
    Object.assign(globalThis, { setInterval, clearInterval })
  })
  return {
    pass(ms) {
      skippedMs += ms
      for (const callback of [...intervals.values()]) callback()
    },
  }
}
