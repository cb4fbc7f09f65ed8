/**
 * Moments that survive steps of the wall clock: each contains the time of a monotonic clock and the boot in which it was
 * read. The time between two moments of one boot is therefore exact, even if the wall clock was changed in between. Time
 * asleep counts: Node's own monotonic clock stops while the machine sleeps, so the time that it missed is added.
 */
import { readFileSync } from 'node:fs'

export interface Moment {
  readonly wallMs: number
  /** Monotonic: milliseconds since the boot of the machine, including time asleep. Stored under this name. */
  readonly steadyMs: number
  readonly boot: string
}

export type Clock = () => Moment

/** Moments stored by versions that did not count sleep have no such prefix, so the two kinds are never compared. */
const bootPrefix = 'b:'

/** The interval between measurements of the time asleep, in ms of the wall clock, which advances while the machine sleeps. */
const sleepCheckMs = 1000

/** Smaller differences are ignored: /proc/uptime has a precision of 10 ms. */
const sleepMsMin = 50

/** A measurement that takes longer was interrupted, so its result may include the interruption. */
const measuringMsMax = 10

const boot = bootPrefix + bootName()
let sleptMs = 0
let measuredAtWallMs = -Infinity

export function now(): Moment {
  const wallMs = Date.now()
  if (Math.abs(wallMs - measuredAtWallMs) >= sleepCheckMs && measureSleep()) measuredAtWallMs = wallMs
  return { wallMs, steadyMs: awakeMs() + sleptMs, boot }
}

function awakeMs(): number {
  return Math.floor(Number(process.hrtime.bigint() / 1_000_000n))
}

/** The time of `moment` on the wall clock as set at `present`; within one boot, steps of that clock have no effect. */
export function wallMsOf(moment: Moment, present: Moment): number {
  if (moment.boot !== present.boot) return moment.wallMs
  return present.wallMs - (present.steadyMs - moment.steadyMs)
}

/** Counts no sleep if the uptime is unknown, or too short, as in a container. @returns whether the measurement is reliable */
function measureSleep(): boolean {
  const beforeMs = awakeMs()
  const bootedMs = readBootedMs()
  if (bootedMs === undefined) return true
  if (awakeMs() - beforeMs > measuringMsMax) return false
  const slept = Math.max(0, bootedMs - beforeMs)
  if (Math.abs(slept - sleptMs) >= sleepMsMin) sleptMs = slept
  return true
}

function readBootedMs(): number | undefined {
  try {
    return Math.round(Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]) * 1000)
  } catch {
    return undefined
  }
}

/** Identifies the boot: by its id on Linux, elsewhere by its time, to the second. */
function bootName(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().slice(0, 8)
  } catch {
    return String(Math.round(Date.now() / 1000 - Number(process.hrtime.bigint() / 1_000_000_000n)))
  }
}
