/**
 * Changes of what a selector matches, as an iterator. Where they come from is in subscription.ts and shared-stream.ts;
 * docs/changes.md says what the service promises.
 */
import type { ChangesBody } from '../../api/bodies/bodies.js'
import type { Result } from './attempt.js'
import { type ConnectionEvents, type Disconnection, TypedTarget } from './events.js'
import type { Delivery, SharedStreams } from './shared-stream.js'
import { Subscription } from './subscription.js'

/** What happened to what is followed. */
export type Change =
  /** The topic is there, and this is what it is now; or there is no such topic, or it is of another type than asked for. */
  | Result
  /** All changes so far together are the state of one moment. */
  | { readonly kind: 'complete' }
  /** What was missed is no longer known: the present state follows, and what it lacks is gone. */
  | { readonly kind: 'restarted' }

export interface ChangesOptions extends Omit<ChangesBody, 'path' | 'selector' | 'wait'> {
  /** Ends it when it is aborted; the iteration throws the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Follows what a selector matches, from the first iteration on; made by `Client.changes`. Its events, of which the second
 * comes once for each outage:
 *
 *     connected      the first piece of an answer has arrived
 *     disconnected   a CustomEvent<Disconnection>: it waits, and tries again
 */
export class Changes extends TypedTarget<ConnectionEvents> implements AsyncIterable<Change> {
  /**
   * What to pass as `since` to go on after the changes that were taken so far, later or elsewhere; undefined while the
   * present state is not complete.
   */
  next: string | undefined
  #state: 'idle' | 'connected' | 'disconnected' = 'idle'
  /** Whether some of a present state was taken that is not complete. */
  #isDirty = false

  constructor(
    private readonly streams: SharedStreams,
    private readonly members: ChangesBody,
    private readonly signal: AbortSignal | undefined,
  ) {
    super()
    this.next = members.since
  }

  /** Whether the last attempt brought something, and nothing has failed since. */
  get isConnected(): boolean {
    return this.#state === 'connected'
  }

  /**
   * Goes on until the signal is aborted, or the service refuses the request for good.
   *
   * @throws TopicdError, also for an answer that is not the service's; the signal's reason
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Change, void, undefined> {
    this.signal?.throwIfAborted()
    const subscription = new Subscription(this.streams, { ...this.members, since: this.next }, this.#isDirty)
    try {
      for (;;) yield* this.#take(await subscription.next(this.signal))
    } finally {
      subscription.end()
      this.#state = 'idle'
    }
  }

  *#take(delivery: Delivery): Generator<Change, void, undefined> {
    if (delivery === 'connected') this.#connect()
    else if (delivery === 'restarted') {
      this.#isDirty = false
      this.next = undefined
      yield { kind: 'restarted' }
    } else if ('outage' in delivery) this.#disconnect(delivery.outage)
    else {
      this.#isDirty = true
      yield* delivery.results
      this.next = delivery.next ?? this.next
      if (!delivery.has_more) yield { kind: 'complete' }
    }
  }

  #connect(): void {
    if (this.isConnected) return
    this.#state = 'connected'
    this.dispatchEvent(new Event('connected'))
  }

  #disconnect(error: unknown): void {
    if (this.#state === 'disconnected') return
    this.#state = 'disconnected'
    this.dispatchEvent(new CustomEvent<Disconnection>('disconnected', { detail: { error } }))
  }
}
