/**
 * API keys in the primary: has a worker answer each question and, if a key may have changed, has every worker load the
 * keys before the answer is returned. A worker that does not respond delays this but cannot prevent it. Nothing here
 * opens the store.
 */
import { within } from '../../base/within.js'
import type { Question } from '../messages.js'
import type { Child } from './child.js'

/** How long one worker may take to answer before another is asked as well: a commit takes milliseconds. */
const patienceMs = 1000

/** How long an answer may take in all: a commit, at worst while a new worker opens the store. */
const answerMsMax = 20_000

/** How long a worker may take to load the keys before it is reported as late. */
const loadMsMax = 3000

/** What a change of keys came to. */
interface KeyOutcome {
  readonly answer: unknown
  /** The process ids of the workers that may still serve by the former keys. */
  readonly late: readonly number[]
}

interface KeyDeskOptions {
  /** The workers that serve now. */
  readonly serving: () => readonly Child[]
  /** The workers that may hold a copy of the keys. */
  readonly loaded: () => readonly Child[]
}

export class KeyDesk {
  constructor(private readonly options: KeyDeskOptions) {}

  /**
   * Has a question answered, and a change known to all workers.
   *
   * @throws Error of the last worker, when none answered; the keys have been loaded everywhere all the same, since a
   *   worker may have changed them
   */
  async ask(question: Question): Promise<KeyOutcome> {
    if (question.about === 'listKeys') return { answer: await this.#answer(question), late: [] }
    const answered = await this.#answer(question).then(
      (answer) => ({ answer }),
      (error: Error) => error,
    )
    const late = await this.announce()
    if (answered instanceof Error) throw answered
    return { ...answered, late }
  }

  /** Has all workers load the keys. @returns the process ids of those that did not say in time that they have */
  async announce(): Promise<number[]> {
    const late = await Promise.all(
      this.options.loaded().map((worker) =>
        worker.loadKeys(loadMsMax).then(
          () => [],
          // One that has ended serves nothing.
          () => (worker.state === 'ended' ? [] : [worker.process.pid ?? 0]),
        ),
      ),
    )
    return late.flat()
  }

  /** Asks the worker that was heard last; if it gives no answer soon, another one as well. The first answer counts. */
  async #answer(question: Question): Promise<unknown> {
    const workers = [...this.options.serving()].sort((a, b) => b.heardMs - a.heardMs)
    if (workers.length === 0) throw new Error('no worker serves at the moment')
    const attempts: Promise<unknown>[] = []
    const last = workers.at(-1)
    for (const worker of workers) {
      // One that is passed over must not act on the question much later, when the key may have changed again.
      attempts.push(worker.request(question, answerMsMax, worker === last ? answerMsMax : patienceMs))
      const first = Promise.any(attempts).then(
        (answer) => ({ answer }),
        () => undefined,
      )
      const answered = await (worker === last ? first : within(patienceMs, first))
      if (answered !== undefined) return answered.answer
    }
    return attempts.at(-1)
  }
}
