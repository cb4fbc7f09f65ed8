/** The events of a connection, and an EventTarget with a type for each event's name. */

/** The detail of a `disconnected` event. */
export interface Disconnection {
  /** The cause: an error from `fetch`, a TopicdError, or an Error for a stream that ended or became silent. */
  readonly error: unknown
}

export interface ConnectionEvents {
  /** The first data has arrived, initially or after an outage. */
  readonly connected: Event
  /** An outage has started; the client retries until it succeeds. */
  readonly disconnected: CustomEvent<Disconnection>
}

type AnyListener = Parameters<EventTarget['addEventListener']>
type Listener<Event> = ((event: Event) => void) | { handleEvent(event: Event): void }

/** Also accepts listeners for other names, as the platform's targets do. */
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

/** `Events` maps each event's name to its type. */
export const TypedTarget = EventTarget as new <Events>() => TypedTarget<Events>

export function disconnected(detail: Disconnection): CustomEvent<Disconnection> {
  return new CustomEvent('disconnected', { detail })
}

/** Dispatches each connection event of `from` on `to` as well. */
export function relay(from: TypedTarget<ConnectionEvents>, to: EventTarget): void {
  from.addEventListener('connected', () => to.dispatchEvent(new Event('connected')))
  from.addEventListener('disconnected', ({ detail }) => to.dispatchEvent(disconnected(detail)))
}
