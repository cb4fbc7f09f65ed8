/**
 * The lease on evaluating removals: a row that names its holder and says until when, by the engine's clock, so that of all
 * processes of all hosts exactly one works at a time. It is taken and renewed by compare-and-set. Whoever holds it and dies
 * is followed by another once it has run out. One that runs for longer than any lease was taken before the engine's clock
 * stepped back, or a fail-over to a slower one: it is no obstacle.
 */
import { randomUUID } from 'node:crypto'
import type { Connections } from './connections.js'
import { clockMs, inTime, type Statement, startMs } from './statement.js'

/** How long the lease runs, in ms: with the second between two looks of another process, well below the 5 s of a due removal. */
const leaseMs = 3000

const renewMs = 1000

/**
 * The later clock where the lease is too long: one that another process took while this statement was on its way was granted
 * at a time before that, and must not look longer than it is.
 */
const takeLease: Statement<{ expires: string }> = {
  name: 'take_lease',
  text: `
    update topicd.leases set holder = $1, expires = ${startMs} + $2::bigint
    where name = 'removals' and (holder = $1 or expires <= ${startMs} or expires > ${clockMs} + $2::bigint) and ${inTime(3)}
    returning expires`,
}

/** True in a statement for as long as the process named by its parameter holds the lease. */
export function isHeldBy(number: number): string {
  return `exists (select 1 from topicd.leases where name = 'removals' and holder = $${number} and expires > ${clockMs})`
}

const endLease: Statement<never> = {
  name: 'end_lease',
  text: `update topicd.leases set expires = 0 where name = 'removals' and holder = $1 and ${inTime(2)}`,
}

export interface Lease {
  /** The name of this process in the lease's row. */
  readonly holder: string
  /**
   * Does the work if this process holds the lease or can take it, and renews it meanwhile.
   *
   * @param work asks `held` before each of its steps, and stops when it is told false
   * @returns undefined when another process holds it
   */
  whileHeld<T>(work: (held: () => boolean) => Promise<T>): Promise<T | undefined>
  /** Lets another take it at once. */
  end(): Promise<void>
}

export function createLease({ write }: Connections): Lease {
  const holder = randomUUID()
  let heldUntil = 0

  /** Our own clock only measures how long ago the engine granted it, from before it was asked. */
  async function take(): Promise<void> {
    const askedAt = performance.now()
    const granted = await write(takeLease, [holder, leaseMs])
    heldUntil = granted.length === 0 ? 0 : askedAt + leaseMs
  }

  const held = (): boolean => performance.now() < heldUntil

  return {
    holder,
    async whileHeld(work) {
      await take()
      if (!held()) return undefined
      const renewal = setInterval(() => void take().catch(() => {}), renewMs)
      try {
        return await work(held)
      } finally {
        clearInterval(renewal)
      }
    },
    async end() {
      if (!held()) return
      heldUntil = 0
      await write(endLease, [holder])
    },
  }
}
