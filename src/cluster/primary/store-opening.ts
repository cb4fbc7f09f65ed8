/**
 * The processes that open the store, and the one rule about them: no process opens it while another may be writing, since
 * that can lose acknowledged commits (store/lmdb/environment/environment.ts). One process at a time opens it, and the writer, which
 * alone writes, pauses meanwhile:
 *
 *     the writer pauses → it has reported `paused`, or has ended → the new one opens (milliseconds) → the writer resumes
 *
 * A writer that does not pause in time is killed and waited for: only its end proves that it no longer writes.
 */
import { commitDeadlineMs } from '../../settings/limits.js'
import type { Child } from './child.js'

/** How long a pause may take: a commit in flight that takes longer ends the writer by its own deadline. */
const pauseMsMax = commitDeadlineMs + 2000

/** Opening takes milliseconds; after this long it has failed. */
const openMsMax = 10_000

export class StoreOpener {
  /** The process that writes, or may do so. */
  #writer: Child | undefined
  /** Resolves after the last opening that was requested. */
  #last: Promise<unknown> = Promise.resolve()

  /** Lets `child`, which has loaded, open the store. Rejects when it cannot, once its process has ended. */
  open(child: Child): Promise<void> {
    return this.#inTurn(child, () => this.#openBesideWriter(child))
  }

  /** As `open`, for one that will write. Rejects while the writer before it is not gone. */
  openWriter(child: Child): Promise<void> {
    return this.#inTurn(child, async () => {
      if (this.#writer !== undefined && this.#writer.state !== 'ended')
        throw new Error(`${this.#writer}, which writes, has not ended`)
      this.#writer = child
      await this.#open(child)
    })
  }

  async #inTurn(child: Child, open: () => Promise<void>): Promise<void> {
    const turn = this.#last
    const opened = turn.then(() => {
      if (child.state === 'ended') throw endedTooEarly(child)
      return open()
    })
    this.#last = opened.catch(() => {})
    // Earlier openings may take long; a child that ends while it waits for them is reported at once.
    await Promise.race([turn, child.ended])
    if (child.state === 'ended') throw endedTooEarly(child)
    return opened
  }

  async #openBesideWriter(child: Child): Promise<void> {
    const writer = this.#writer
    if (writer !== undefined && writer.state !== 'ended') {
      const paused = writer.waitFor('paused', pauseMsMax)
      writer.send({ kind: 'pauseWrites' })
      await paused.catch(() => writer.ended)
    }
    try {
      await this.#open(child)
    } finally {
      writer?.send({ kind: 'resumeWrites' })
    }
  }

  async #open(child: Child): Promise<void> {
    try {
      const opened = child.waitFor('opened', openMsMax)
      child.send({ kind: 'open' })
      await opened
    } catch (error) {
      child.end('it could not open the store')
      await child.ended
      throw error
    }
  }
}

function endedTooEarly(child: Child): Error {
  return new Error(`${child} ended before it could open the store`)
}
