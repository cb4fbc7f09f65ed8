/** Changes to a selector's matches, as an iterator. subscription.ts fetches the changes; docs/changes.md describes the guarantees. */
import type { ChangesBody } from '../../api/bodies/bodies.js'
import { controllerWithin } from '../wait.js'
import type { Result } from './attempt.js'
import { type ConnectionEvents, disconnected, TypedTarget } from './events.js'
import { Follower } from './follower.js'
import type { Step } from './page-stream.js'
import type { SharedStreams } from './shared-stream.js'
import { fill } from './subscription.js'

export type Change =
  /** The topic's current state, or `removed` if the topic is missing or has a type other than the requested one. */
  | Result
  /** All changes so far together form a snapshot. */
  | { readonly kind: 'complete' }
  /** The missed changes are no longer available: the current state follows, and topics not in it no longer exist. */
  | { readonly kind: 'restarted' }

export interface ChangesOptions extends Omit<ChangesBody, 'path' | 'selector' | 'wait'> {
  /** When aborted, the iteration throws the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** Follows a selector's matches, starting with the first iteration. From `Client.changes`. Events: `connected`, `disconnected`. */
export class Changes extends TypedTarget<ConnectionEvents> implements AsyncIterable<Change> {
  /** Token to pass as `since` to resume after the changes received so far; may be undefined until the current state is complete. */
  next: string | undefined
  #state: 'idle' | 'connected' | 'disconnected' = 'idle'
  /** True once a page has been delivered after the start or the last restart. */
  #isDirty = false

  constructor(
    private readonly streams: SharedStreams,
    private readonly members: Omit<ChangesBody, 'since'>,
    since: string | undefined,
    private readonly signal: AbortSignal | undefined,
  ) {
    super()
    this.next = since
  }

  /** True if the last attempt received data and has not failed since. */
  get isConnected(): boolean {
    return this.#state === 'connected'
  }

  /** @throws TopicdError if the service rejects the request permanently, or if another service responds; the signal's reason */
  async *[Symbol.asyncIterator](): AsyncGenerator<Change, void, undefined> {
    this.signal?.throwIfAborted()
    const controller = controllerWithin(this.signal)
    const { selector = '', ...form } = this.members
    const follower = new Follower(selector, controller.signal)
    void fill(follower, this.streams, form, () => ({ since: this.next, isDirty: this.#isDirty }))
    try {
      for (;;) yield* this.#take(await follower.take())
    } finally {
      controller.abort()
      // Keeps `disconnected`: an outage ends with the next response, even in another iteration.
      if (this.isConnected) this.#state = 'idle'
    }
  }

  *#take(step: Step): Generator<Change, void, undefined> {
    switch (step.kind) {
      case 'connected':
        return this.#become('connected', new Event('connected'))
      case 'outage':
        return this.#become('disconnected', disconnected({ error: step.error }))
      case 'restarted':
        this.#isDirty = false
        this.next = undefined
        return yield { kind: 'restarted' }
      case 'page':
        this.#isDirty = true
        yield* step.results
        this.next = step.next ?? this.next
        if (!step.has_more) yield { kind: 'complete' }
    }
  }

  #become(state: 'connected' | 'disconnected', event: Event): void {
    if (this.#state === state) return
    this.#state = state
    this.dispatchEvent(event)
  }
}
