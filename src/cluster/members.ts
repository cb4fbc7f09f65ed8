/**
 * The children that may have the store open, and the one rule about them: no process opens the store while another may be
 * writing, since that can lose acknowledged commits (store/lmdb/environment.ts). So openings happen one at a time, and
 * for each of them every other member holds its writes:
 *
 *     hold all others → all have said `held`, or are gone → the new one opens (milliseconds) → release all
 *
 * A member that does not come to hold its writes is killed, and waited for: only its end proves that it writes no more.
 */
import { commitDeadlineMs } from '../limits.js'
import type { Child } from './child.js'

export interface Members {
  /** Lets `child`, which is loaded, open the store; rejects when it can not, and it is gone then. */
  open(child: Child): Promise<void>
  readonly all: ReadonlySet<Child>
}

/** A commit in flight may take this long before its own deadline ends its process. */
const holdMsMax = commitDeadlineMs + 2000

/** Opening is some milliseconds of work; after this long it never will be. */
const openMsMax = 10_000

export function createMembers(onKilled: (child: Child, reason: string) => void): Members {
  const all = new Set<Child>()
  let opening: Promise<unknown> = Promise.resolve()

  async function end(child: Child, reason: string): Promise<void> {
    onKilled(child, reason)
    child.process.kill('SIGKILL')
    await child.ended
  }

  async function hold(member: Child): Promise<void> {
    const held = member.said('held', holdMsMax)
    member.tell({ kind: 'hold' })
    await held.catch((error: Error) => (member.gone() ? undefined : end(member, error.message)))
  }

  async function openAlone(child: Child): Promise<void> {
    const others = [...all]
    await Promise.all(others.map(hold))
    try {
      const opened = child.said('opened', openMsMax)
      all.add(child)
      void child.ended.then(() => all.delete(child))
      child.tell({ kind: 'open' })
      await opened
    } catch (error) {
      await end(child, (error as Error).message)
      throw error
    } finally {
      for (const member of others) member.tell({ kind: 'release' })
    }
  }

  return {
    all,
    open(child) {
      const opened = opening.then(() => openAlone(child))
      opening = opened.catch(() => {})
      return opened
    },
  }
}
