/**
 * Moments that survive steps of the wall clock: each has the time of a monotonic clock and the boot in which it was
 * read, so that the time between two moments of one boot is exact whatever the wall clock did meanwhile. Time during
 * which the machine slept counts: Node's own monotonic clock stops then, so the time it missed is added.
 */
import { readFileSync } from 'node:fs'

export interface Moment {
  readonly wallMs: number
  /** Monotonic: milliseconds since the machine was booted, asleep or not. Stored under this name. */
  readonly steadyMs: number
  readonly boot: string
}

export type Clock = () => Moment

/** Moments stored by versions that did not count sleep lack this prefix, so the two kinds are never compared. */
const bootPrefix = 'b:'

/** Between two measurements of the time slept, in ms of the wall clock, which advances while the machine sleeps. */
const sleepCheckMs = 1000

/** /proc/uptime has hundredths of a second; a difference below this is ignored. */
const sleepMsMin = 50

/** A measurement that takes longer was interrupted, and its result may be the interruption itself. */
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

/** The time of `moment` by the wall clock as it is at `present`; within one boot, steps in between have no effect. */
export function wallMsOf(moment: Moment, present: Moment): number {
  if (moment.boot !== present.boot) return moment.wallMs
  return present.wallMs - (present.steadyMs - moment.steadyMs)
}

/** Counts no sleep without a reported uptime, nor in a container, whose uptime is shorter. @returns true if reliable */
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

/** Linux has an id for each boot; elsewhere the time of the boot, to the second, identifies it. */
function bootName(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().slice(0, 8)
  } catch {
    return String(Math.round(Date.now() / 1000 - Number(process.hrtime.bigint() / 1_000_000_000n)))
  }
}
