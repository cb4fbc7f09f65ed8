/**
 * API keys in the primary: one process at a time responds to a request. If a key may have changed, every worker loads the
 * keys before the response is returned; a worker that does not respond delays this but cannot prevent it. Nothing here
 * opens the store.
 *
 * A process may have executed a request and ended before its response. So the request is repeated (control/persistently.ts).
 * Commands repeat only those of which the primary's response was lost. Workers refuse a key throughout its revocation.
 *
 * A revocation may wait for a writer that hangs, or for its disk. Until its outcome is known, all workers refuse the key;
 * after that, what is stored decides: if the revocation failed, the key is accepted again before its caller is told.
 */
import { mayChange } from '../../keys/makers.js'
import type { Caller, KeyCommand, KeyRequest, KeyRequestOf, KeyResponse, KeyResponses } from '../../keys/requests.js'
import { persistently } from '../control/persistently.js'
import type { Child } from './child.js'

/** The maximum time of one response: a writer or a worker that hangs is killed within 20 s. */
const responseMsMax = 20_000

/** A request is repeated for so long: with the last response, less than a command waits for the service. */
const attemptsMsMax = 30_000

/** A worker that takes longer to load the keys is reported as late. */
const loadMsMax = 3000

interface ApiKeysOptions {
  /** The writer or, on an engine without one, a worker; undefined while none runs. */
  readonly responder: () => Child | undefined
  /** The workers that may hold a copy of the keys. */
  readonly loaded: () => readonly Child[]
}

export class ApiKeys {
  /** The names of the keys that are being revoked, by the numbers of the revocations. */
  readonly #revocations = new Map<number, string>()
  #lastRevocation = 0

  constructor(private readonly options: ApiKeysOptions) {}

  /**
   * After a change, and after an error because the keys may have changed, has all workers load the keys first.
   *
   * @throws NothingDone or Error, as `persistently` does
   */
  async request(request: KeyRequest): Promise<KeyResponse> {
    if (request.command === 'listKeys') return { response: await this.#response(request) }
    if (request.command === 'revokeKey' && request.by !== undefined && !(await this.#mayRevoke(request, request.by)))
      return { response: false }
    const revocation = request.command === 'revokeKey' ? this.#beginRevocation(request.name) : undefined
    const [outcome] = await Promise.allSettled([this.#response(request)])
    if (revocation !== undefined) this.#revocations.delete(revocation)
    const late = await this.announce(revocation)
    if (outcome.status === 'rejected') throw outcome.reason
    return { response: outcome.value, late }
  }

  /**
   * Has all workers load the keys.
   *
   * @param revocation the one that is over: they refuse its key no longer because of that
   * @returns the process ids of those that are late
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

  /** The store decides it again. Workers refuse a key throughout its revocation, so a maker that may not try does nothing. */
  async #mayRevoke({ name }: KeyRequestOf<'revokeKey'>, by: Caller): Promise<boolean> {
    const keys = (await this.#response({ command: 'listKeys' })) as KeyResponses['listKeys']
    const named = (wanted: string) => keys.find((key) => key.name === wanted)
    const key = named(name)
    return key !== undefined && mayChange(by, named(by.name), key)
  }

  /** Has all workers refuse the key. @returns the number of the revocation */
  #beginRevocation(name: string): number {
    const revocation = ++this.#lastRevocation
    this.#revocations.set(revocation, name)
    for (const worker of this.options.loaded()) worker.send({ kind: 'suspendKey', name, revocation })
    return revocation
  }

  /** Repeats the request while the process that was asked ends or hangs: another one takes its place. */
  async #response(request: KeyRequest): Promise<KeyResponses[KeyCommand]> {
    let asked = 0
    const response = await persistently(() => {
      const child = this.options.responder()
      if (child === undefined) throw new Error('no writer or worker is running at the moment')
      asked++
      return child.request(request, responseMsMax)
    }, attemptsMsMax)
    // An earlier attempt may have revoked it. A maker may as well not be allowed to any more.
    const mayBeRevoked = request.command === 'revokeKey' && asked > 1 && request.by === undefined
    return response || mayBeRevoked
  }
}
