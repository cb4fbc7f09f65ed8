/**
 * Enforces the one rule for processes that open the store: no process opens it while another may be writing, because that can
 * lose acknowledged commits (store/lmdb/environment/environment.ts). Processes open the store one at a time, while the writer,
 * the only process that writes, pauses:
 *
 *     the writer pauses → it reports `paused`, or exits → the new process opens (milliseconds) → the writer resumes
 *
 * A writer that does not pause in time is killed, and its exit is awaited: only the exit proves that it no longer writes.
 */
import { commitDeadlineMs } from '../../settings/limits.js'
import type { Child } from './child.js'

/** Maximum wait for a pause: if a commit in flight takes longer, its own deadline stops the writer. */
const pauseMsMax = commitDeadlineMs + 2000

/** Opening takes milliseconds; an opening that takes longer than this has failed. */
const openMsMax = 10_000

export class StoreOpener {
  /** The process that writes or may write. */
  #writer: Child | undefined
  /** Resolves after the last opening that was requested. */
  #last: Promise<unknown> = Promise.resolve()

  /** Has a loaded `child` open the store. If the child cannot, rejects once its process has exited. */
  open(child: Child): Promise<void> {
    return this.#inTurn(child, () => this.#openBesideWriter(child))
  }

  /** Like `open`, but for a process that will write. Rejects if the previous writer has not exited. */
  openWriter(child: Child): Promise<void> {
    return this.#inTurn(child, async () => {
      if (this.#writer !== undefined && this.#writer.state !== 'ended')
        throw new Error(`the former writer, ${this.#writer}, has not exited`)
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
    // Earlier openings may take a long time; a child that exits while it waits is reported immediately.
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
  return new Error(`${child} exited before it could open the store`)
}
