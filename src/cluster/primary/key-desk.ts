/**
 * API keys in the primary: has a worker respond to each request and, if a key may have changed, has every worker load the
 * keys before the response is returned. A worker that does not respond delays this but cannot prevent it. Nothing here
 * opens the store.
 *
 * A revocation may wait for a writer that hangs, or for its disk. Until its outcome is known, all workers refuse the key;
 * after that, what is stored decides: if the revocation failed, the key is accepted again before its caller is told.
 */
import { within } from '../../base/within.js'
import type { KeyCommand, KeyRequest, ResponseLine, Responses } from '../control/messages.js'
import { NothingDone } from '../control/nothing-done.js'
import type { Child } from './child.js'

/** How long one worker may take to respond before another gets the request as well: a commit takes milliseconds. */
const patienceMs = 1000

/** How long a response may take in all: a commit, at worst while a new worker opens the store. */
const responseMsMax = 20_000

/** How long a worker may take to load the keys before it is reported as late. */
const loadMsMax = 3000

interface KeyDeskOptions {
  /** The workers that serve now. */
  readonly serving: () => readonly Child[]
  /** The workers that may hold a copy of the keys. */
  readonly loaded: () => readonly Child[]
}

export class KeyDesk {
  /** The names of the keys that are being revoked, by the numbers of the revocations. */
  readonly #revocations = new Map<number, string>()
  #lastRevocation = 0

  constructor(private readonly options: KeyDeskOptions) {}

  /**
   * Has a worker respond, and a change known to all workers.
   *
   * @throws Error when none responded: of the last worker of which it is not certain that it did nothing, if there is one;
   *   the keys have been loaded everywhere all the same, since a worker may have changed them
   */
  async request(request: KeyRequest): Promise<ResponseLine<KeyCommand>> {
    if (request.command === 'listKeys') return { response: await this.#response(request) }
    const revocation = request.command === 'revokeKey' ? this.#beginRevocation(request.name) : undefined
    const outcome = await this.#response(request).then(
      (response) => ({ response }),
      (error: Error) => error,
    )
    if (revocation !== undefined) this.#revocations.delete(revocation)
    const late = await this.announce(revocation)
    if (outcome instanceof Error) throw outcome
    return { ...outcome, late }
  }

  /**
   * Has all workers load the keys.
   *
   * @param revocation the one that is over: they refuse its key no longer because of that
   * @returns the process ids of those that did not say in time that they have
   */
  async announce(revocation?: number): Promise<number[]> {
    const late = await Promise.all(
      this.options.loaded().map((worker) =>
        worker.loadKeys(loadMsMax, revocation).then(
          () => [],
          // One that has ended serves nothing.
          () => (worker.state === 'ended' ? [] : [worker.process.pid ?? 0]),
        ),
      ),
    )
    return late.flat()
  }

  /** Has a worker that has just opened the store refuse the keys that are being revoked: it may have read them. */
  suspendIn(worker: Child): void {
    for (const [revocation, name] of this.#revocations) worker.send({ kind: 'suspendKey', name, revocation })
  }

  /** Has all workers refuse the key. @returns the number of the revocation */
  #beginRevocation(name: string): number {
    const revocation = ++this.#lastRevocation
    this.#revocations.set(revocation, name)
    for (const worker of this.options.loaded()) worker.send({ kind: 'suspendKey', name, revocation })
    return revocation
  }

  /** Of the worker that was heard last or, if it does not respond soon, another one as well. */
  async #response(request: KeyRequest): Promise<Responses[KeyCommand]> {
    const workers = [...this.options.serving()].sort((a, b) => b.heardMs - a.heardMs)
    const last = workers.pop()
    if (last === undefined) throw new Error('no worker is serving at the moment')
    const attempts: Promise<Responses[KeyCommand]>[] = []
    for (const worker of workers) {
      // One that is passed over must not act on the request much later, when the key may have changed again.
      attempts.push(worker.request(request, responseMsMax, patienceMs))
      const first = firstDecisive(attempts).then(
        (response) => ({ response }),
        () => undefined,
      )
      const outcome = await within(patienceMs, first)
      if (outcome !== undefined) return outcome.response
    }
    attempts.push(last.request(request, responseMsMax))
    return firstDecisive(attempts)
  }
}

/** A worker found nothing to change. */
class Unchanged extends Error {}

/**
 * The first response with a change, or with the keys. That a worker found nothing to change counts only once all have
 * responded: another of them may have made the change before.
 *
 * @throws Error, as `request` does
 */
async function firstDecisive(attempts: readonly Promise<Responses[KeyCommand]>[]): Promise<Responses[KeyCommand]> {
  const changes = attempts.map(async (attempt) => {
    const response = await attempt
    if (response === false) throw new Unchanged()
    return response
  })
  return Promise.any(changes).catch(({ errors }: AggregateError) => {
    const failures: Error[] = errors.filter((error) => !(error instanceof Unchanged))
    const uncertain = failures.findLast((error) => !(error instanceof NothingDone))
    if (uncertain !== undefined) throw uncertain
    if (failures.length < errors.length) return false
    throw failures.at(-1)
  })
}
