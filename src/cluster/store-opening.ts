/**
 * The processes that have the store open, and the one rule about them: no process opens the store while another may be
 * writing, since that can lose acknowledged commits (store/lmdb/environment.ts). So one process at a time opens it, and
 * all others pause their writes meanwhile:
 *
 *     all others pause → each has reported `held`, or has ended → the new one opens (milliseconds) → all others resume
 *
 * A process that does not pause in time is killed and waited for: only its end proves that it no longer writes. A worker
 * that sends no heartbeats is killed sooner, while this waits for it (workers.ts).
 */
import { commitDeadlineMs } from '../limits.js'
import type { Child } from './child.js'

/** How long a pause may take: a commit in flight that takes longer ends its process by its own deadline. */
const pauseMsMax = commitDeadlineMs + 2000

/** Opening takes milliseconds; after this long it has failed. */
const openMsMax = 10_000

export class StoreOpener {
  /** Every process that has the store open, or may have. */
  readonly #openers = new Set<Child>()
  /** Resolves after the last opening that was requested. */
  #last: Promise<unknown> = Promise.resolve()
  /** Those that were told to pause, and have not said that they have. */
  readonly #pausing = new Set<Child>()

  /** Whether a process waits for this one to pause. */
  waitsFor(child: Child): boolean {
    return this.#pausing.has(child)
  }

  /** Lets `child`, which has loaded, open the store. Rejects when it cannot, once its process has ended. */
  async open(child: Child): Promise<void> {
    const turn = this.#last
    const opened = turn.then(() => this.#openAlone(child))
    this.#last = opened.catch(() => {})
    // Earlier openings may take long; a child that ends while it waits for them is reported at once.
    await Promise.race([turn, child.ended])
    if (child.state === 'ended') throw endedTooEarly(child)
    return opened
  }

  async #openAlone(child: Child): Promise<void> {
    if (child.state === 'ended') throw endedTooEarly(child)
    const others = [...this.#openers]
    await Promise.all(others.map((other) => this.#pauseWrites(other)))
    try {
      const opened = child.waitFor('opened', openMsMax)
      this.#openers.add(child)
      void child.ended.then(() => this.#openers.delete(child))
      child.send({ kind: 'open' })
      await opened
    } catch (error) {
      child.end('it could not open the store')
      await child.ended
      throw error
    } finally {
      for (const other of others) other.send({ kind: 'release' })
    }
  }

  async #pauseWrites(child: Child): Promise<void> {
    const held = child.waitFor('held', pauseMsMax)
    this.#pausing.add(child)
    child.send({ kind: 'hold' })
    await held.catch(() => child.ended)
    this.#pausing.delete(child)
  }
}

function endedTooEarly(child: Child): Error {
  return new Error(`${child} ended before it could open the store`)
}
