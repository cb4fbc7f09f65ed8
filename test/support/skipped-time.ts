/**
 * Time that a test skips: `performance.now()` jumps, and intervals that this process has set since are called, as if
 * their time had come. Timeouts go on as they are.
 */
import type { Test } from 'tap'

export interface SkippedTime {
  /** Lets this time pass, and calls every interval once. */
  pass(ms: number): void
}

/** To be called before what sets the intervals is made; everything is as before when the test ends. */
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
