/**
 * Moments that survive steps of the wall clock: each carries the monotonic clock and the boot it was read in as well, so
 * that the time passed between two moments of one boot is exact whatever the wall clock did meanwhile.
 */
import { readFileSync } from 'node:fs'

export interface Moment {
  /** Milliseconds since the epoch, by the wall clock. */
  readonly wallMs: number
  /** Milliseconds on the machine's monotonic clock. */
  readonly steadyMs: number
  /** Names the boot whose monotonic clock it was. */
  readonly boot: string
}

/** Tells the present moment. */
export type Clock = () => Moment

const boot = bootName()

export function now(): Moment {
  return { wallMs: Date.now(), steadyMs: Math.floor(Number(process.hrtime.bigint() / 1_000_000n)), boot }
}

/** When `moment` was, by the wall clock as it stands at `present`: a step in between shifts it along. */
export function wallMsOf(moment: Moment, present: Moment): number {
  if (moment.boot !== present.boot) return moment.wallMs
  return present.wallMs - (present.steadyMs - moment.steadyMs)
}

/** Linux names each boot; elsewhere the machine's start, to the second, does. */
function bootName(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().slice(0, 8)
  } catch {
    return String(Math.round(Date.now() / 1000 - Number(process.hrtime.bigint() / 1_000_000_000n)))
  }
}
