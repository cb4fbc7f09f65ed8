/**
 * Events with types: what `changes` and `follow` tell about their connection, and an EventTarget whose listeners know
 * each event by its name. Nothing here dispatches.
 */

/** The details of the event `disconnected`. */
export interface Disconnection {
  /** Why: what `fetch` threw, or a TopicdError. */
  readonly error: unknown
}

/** The events of a connection that is kept up. */
export interface ConnectionEvents {
  /** The first piece of an answer has arrived: at the start, and after each outage. */
  readonly connected: Event
  /** An outage has begun; attempts follow until one succeeds. */
  readonly disconnected: CustomEvent<Disconnection>
}

type AnyListener = Parameters<EventTarget['addEventListener']>

interface TypedTarget<Events> extends EventTarget {
  addEventListener<Type extends keyof Events & string>(
    type: Type,
    listener: (event: Events[Type]) => void,
    options?: AnyListener[2],
  ): void
  addEventListener(...args: AnyListener): void
  removeEventListener<Type extends keyof Events & string>(
    type: Type,
    listener: (event: Events[Type]) => void,
    options?: Parameters<EventTarget['removeEventListener']>[2],
  ): void
  removeEventListener(...args: Parameters<EventTarget['removeEventListener']>): void
}

/** An EventTarget; `Events` has the type of each event by its name. */
export const TypedTarget = EventTarget as new <Events>() => TypedTarget<Events>
