/** Typed events of a connection, and an EventTarget that knows each event by its name. Nothing here dispatches. */

export interface Disconnection {
  /** An error that `fetch` threw, or a TopicdError. */
  readonly error: unknown
}

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

/** `Events` has the type of each event by its name. */
export const TypedTarget = EventTarget as new <Events>() => TypedTarget<Events>
