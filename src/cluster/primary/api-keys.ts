/**
 * API keys in the primary: one process at a time responds to a request. If a key may have changed, every worker loads the keys
 * before the response is returned. A worker that does not respond delays the response but cannot prevent it. Nothing here opens the
 * store.
 *
 * A process may execute a request and exit before it responds, so the request is repeated (control/persistently.ts).
 * Commands repeat a request only if the primary's response was lost. Workers reject a key throughout its revocation.
 *
 * A revocation may wait for a hung writer or its disk. Until the outcome is known, all workers reject the key. After
 * that, the store decides: if the revocation failed, the key is accepted again before the caller gets the response.
 */
import { mayChange } from '../../keys/makers.js'
import type { Caller, KeyCommand, KeyRequest, KeyRequestOf, KeyResponse, KeyResponses } from '../../keys/requests.js'
import { persistently } from '../control/persistently.js'
import type { Child } from './child.js'

/** Maximum time for one response: a hung writer or worker is killed within 20 s. */
const responseMsMax = 20_000

/** Time limit for repeated attempts: even with the last response's time added, it is shorter than a command's wait for the service. */
const attemptsMsMax = 30_000

/** Workers that take longer to load the keys are reported as late. */
const loadMsMax = 3000

interface ApiKeysOptions {
  /** The writer or, on an engine without one, a worker; undefined while no such process runs. */
  readonly responder: () => Child | undefined
  /** The workers that may have a copy of the keys. */
  readonly loaded: () => readonly Child[]
}

export class ApiKeys {
  /** The names of the keys that are being revoked, by revocation number. */
  readonly #revocations = new Map<number, string>()
  #lastRevocation = 0

  constructor(private readonly options: ApiKeysOptions) {}

  /**
   * After a change, and after an error (the keys may have changed), has all workers load the keys before this settles.
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
   * @param revocation the number of a finished revocation, which no longer suspends its key
   * @returns the process ids of late workers
   */
  async announce(revocation?: number): Promise<number[]> {
    const late = await Promise.all(
      this.options.loaded().map((worker) =>
        worker.loadKeys(loadMsMax, revocation).then(
          () => [],
          // A worker that has exited serves no requests.
          () => (worker.state === 'ended' ? [] : [worker.process.pid ?? 0]),
        ),
      ),
    )
    return late.flat()
  }

  /** Tells a worker that has just opened the store to suspend the keys being revoked: the worker may have read them. */
  suspendIn(worker: Child): void {
    for (const [revocation, name] of this.#revocations) worker.send({ kind: 'suspendKey', name, revocation })
  }

  /** Checked before workers suspend the key, so that an attempt without permission has no effect. The store checks again. */
  async #mayRevoke({ name }: KeyRequestOf<'revokeKey'>, by: Caller): Promise<boolean> {
    const keys = (await this.#response({ command: 'listKeys' })) as KeyResponses['listKeys']
    const named = (wanted: string) => keys.find((key) => key.name === wanted)
    const key = named(name)
    return key !== undefined && mayChange(by, named(by.name), key)
  }

  /** Suspends the key in all workers. @returns the number of the revocation */
  #beginRevocation(name: string): number {
    const revocation = ++this.#lastRevocation
    this.#revocations.set(revocation, name)
    for (const worker of this.options.loaded()) worker.send({ kind: 'suspendKey', name, revocation })
    return revocation
  }

  /** Repeats the request if the process that received it exits or hangs: another process takes its place. */
  async #response(request: KeyRequest): Promise<KeyResponses[KeyCommand]> {
    let asked = 0
    const response = await persistently(() => {
      const child = this.options.responder()
      if (child === undefined) throw new Error('no writer or worker is running at the moment')
      asked++
      return child.request(request, responseMsMax)
    }, attemptsMsMax)
    // An earlier attempt may have revoked the key. If the request has a caller (`by`), false may instead mean that it lost its permission.
    const mayBeRevoked = request.command === 'revokeKey' && asked > 1 && request.by === undefined
    return response || mayBeRevoked
  }
}
