/**
 * Moments that survive steps of the wall clock: each carries a clock that only runs, and the boot it was read in, so that the
 * time passed between two moments of one boot is exact whatever the wall clock did meanwhile. Time that the machine slept
 * counts: Node's own monotonic clock stands still then, so what it missed is added.
 */
import { readFileSync } from 'node:fs'

export interface Moment {
  /** Milliseconds since the epoch, by the wall clock. */
  readonly wallMs: number
  /** Milliseconds since the machine was booted, asleep or not. */
  readonly steadyMs: number
  /** Names the boot. */
  readonly boot: string
}

/** Tells the present moment. */
export type Clock = () => Moment

/** Moments that were stored before sleep counted have a name without this, so that the two kinds are never compared. */
const bootPrefix = 'b:'

/** Between two looks at how long the machine has slept, by the wall clock, which moves on while the machine sleeps. */
const sleepLookMs = 1000

/** /proc/uptime tells hundredths of a second; a difference below this is none. */
const sleepMsMin = 50

/** A look that takes longer was interrupted, and what it found may be the interruption. */
const lookMsMax = 10

const boot = bootPrefix + bootName()
let sleptMs = 0
let lookedAtWallMs = -Infinity

export function now(): Moment {
  const wallMs = Date.now()
  if (Math.abs(wallMs - lookedAtWallMs) >= sleepLookMs && lookForSleep()) lookedAtWallMs = wallMs
  return { wallMs, steadyMs: awakeMs() + sleptMs, boot }
}

function awakeMs(): number {
  return Math.floor(Number(process.hrtime.bigint() / 1_000_000n))
}

/** When `moment` was, by the wall clock as it is at `present`: a step in between shifts it along. */
export function wallMsOf(moment: Moment, present: Moment): number {
  if (moment.boot !== present.boot) return moment.wallMs
  return present.wallMs - (present.steadyMs - moment.steadyMs)
}

/**
 * Finds out how long the machine has slept since it was booted; answers whether that can be believed. Where the system does not
 * tell, and in a container whose uptime is its own and so less than the machine's, no sleep counts.
 */
function lookForSleep(): boolean {
  const beforeMs = awakeMs()
  const bootedMs = readBootedMs()
  if (bootedMs === undefined) return true
  if (awakeMs() - beforeMs > lookMsMax) return false
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

/** Linux names each boot; elsewhere the machine's start, to the second, does. */
function bootName(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().slice(0, 8)
  } catch {
    return String(Math.round(Date.now() / 1000 - Number(process.hrtime.bigint() / 1_000_000_000n)))
  }
}
