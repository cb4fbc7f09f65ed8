/** Values that are available now or later. */

/** A value, or a promise of one. By checking, a caller avoids the cost of awaiting a value that is already available. */
export type Awaitable<T> = T | Promise<T>

export function whenKnown<T, R>(value: Awaitable<T>, next: (known: T) => Awaitable<R>): Awaitable<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}
