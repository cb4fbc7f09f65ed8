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
type Listener<Event> = ((event: Event) => void) | { handleEvent(event: Event): void }

/** As those of the platform, it also takes listeners for other names. */
interface TypedTarget<Events> extends EventTarget {
  addEventListener<Type extends keyof Events & string>(
    type: Type,
    listener: Listener<Events[Type]>,
    options?: AnyListener[2],
  ): void
  addEventListener(...args: AnyListener): void
  removeEventListener<Type extends keyof Events & string>(
    type: Type,
    listener: Listener<Events[Type]>,
    options?: Parameters<EventTarget['removeEventListener']>[2],
  ): void
  removeEventListener(...args: Parameters<EventTarget['removeEventListener']>): void
}

/** `Events` has the type of each event by its name. */
export const TypedTarget = EventTarget as new <Events>() => TypedTarget<Events>

export function disconnected(detail: Disconnection): CustomEvent<Disconnection> {
  return new CustomEvent('disconnected', { detail })
}

/** Tells `to` of each event of this connection. */
export function relay(from: TypedTarget<ConnectionEvents>, to: EventTarget): void {
  from.addEventListener('connected', () => to.dispatchEvent(new Event('connected')))
  from.addEventListener('disconnected', ({ detail }) => to.dispatchEvent(disconnected(detail)))
}
