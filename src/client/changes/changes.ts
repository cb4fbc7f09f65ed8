/** Changes of a selector's matches, as an iterator. subscription.ts gets them; docs/changes.md has the promises. */
import type { ChangesBody } from '../../api/bodies/bodies.js'
import type { Result } from './attempt.js'
import { type ConnectionEvents, type Disconnection, TypedTarget } from './events.js'
import type { Delivery, SharedStreams } from './shared-stream.js'
import { Subscription } from './subscription.js'

export type Change =
  /** The topic as it is now; or there is none, or it is of another type than requested. */
  | Result
  /** All changes so far together are a snapshot. */
  | { readonly kind: 'complete' }
  /** The missed changes are no longer available: the current state follows, and topics not in it no longer exist. */
  | { readonly kind: 'restarted' }

export interface ChangesOptions extends Omit<ChangesBody, 'path' | 'selector' | 'wait'> {
  /** Aborting it ends the iteration, which throws the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** Follows what a selector matches, from the first iteration on; made by `Client.changes`. Its events: `connected`, `disconnected`. */
export class Changes extends TypedTarget<ConnectionEvents> implements AsyncIterable<Change> {
  /** Pass it as `since` to resume after the changes taken so far; undefined until the current state is complete. */
  next: string | undefined
  #state: 'idle' | 'connected' | 'disconnected' = 'idle'
  /** True once part of an incomplete current state was taken. */
  #isDirty = false

  constructor(
    private readonly streams: SharedStreams,
    private readonly members: ChangesBody,
    private readonly signal: AbortSignal | undefined,
  ) {
    super()
    this.next = members.since
  }

  /** True if the last attempt got data and nothing has failed after it. */
  get isConnected(): boolean {
    return this.#state === 'connected'
  }

  /** @throws TopicdError if the service refuses for good, or something else answers; the signal's reason */
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
