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
  /** Lets `child`, which is loaded, open the store; rejects when it cannot, and it is gone then. */
  open(child: Child): Promise<void>
}

/** A commit in flight may take this long before its own deadline ends its process. */
const holdMsMax = commitDeadlineMs + 2000

/** Opening is some milliseconds of work; after this long it never will be. */
const openMsMax = 10_000

export function createMembers(): Members {
  const all = new Set<Child>()
  let opening: Promise<unknown> = Promise.resolve()

  async function hold(member: Child): Promise<void> {
    const held = member.waitFor('held', holdMsMax)
    member.send({ kind: 'hold' })
    await held.catch(() => member.ended)
  }

  async function openAlone(child: Child): Promise<void> {
    if (child.state === 'ended') throw endedTooEarly(child)
    const others = [...all]
    await Promise.all(others.map(hold))
    try {
      const opened = child.waitFor('opened', openMsMax)
      all.add(child)
      void child.ended.then(() => all.delete(child))
      child.send({ kind: 'open' })
      await opened
    } catch (error) {
      child.end('it could not open the store')
      await child.ended
      throw error
    } finally {
      for (const member of others) member.send({ kind: 'release' })
    }
  }

  return {
    async open(child) {
      const turn = opening
      const opened = turn.then(() => openAlone(child))
      opening = opened.catch(() => {})
      // Turns may be long in coming, and a child that ends before its own is told of at once.
      await Promise.race([turn, child.ended])
      if (child.state === 'ended') throw endedTooEarly(child)
      return opened
    },
  }
}

function endedTooEarly(child: Child): Error {
  return new Error(`${child} ended before it could open the store`)
}
